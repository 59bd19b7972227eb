import type { BackupKeys } from '../../platform/backup/backup-keys.ts'
import { backupIds, openManifest, putVerified } from '../../platform/backup/manifests.ts'
import type { BackupPlace } from '../../platform/backup/place.ts'
import { verifyBackups, type BackupFault, type BackupsChecked } from '../../platform/backup/verify-backups.ts'

/** All backups of a place, or one. Notes in the place that they were verified. */
export async function verifyPlace(
  place: BackupPlace,
  keys: BackupKeys,
  id: string | undefined,
): Promise<BackupsChecked> {
  const ids = id === undefined ? await backupIds(place) : [id]
  if (ids.length === 0) throw new Error(`there is no backup in ${place.address}`)
  const checked = await verifyBackups(place, keys, ids)
  const damaged = new Set(checked.faults.map(({ backup }) => backup))
  for (const each of ids) {
    if (damaged.has(each)) continue
    const { key } = await openManifest(place, keys, each)
    await putVerified(place, key, each, new Date())
  }
  return checked
}

export function verifiedText({ backups, bytes, faults }: BackupsChecked): string {
  const count = (number: number) => number.toLocaleString('en')
  return [
    ...faultLines(faults),
    faults.length === 0
      ? `Complete and unchanged: backups ${count(backups)}, bytes ${count(bytes)}.`
      : `Faults: ${count(faults.length)}.`,
  ].join('\n')
}

export function faultLines(faults: readonly BackupFault[]): readonly string[] {
  return faults.map(({ kind, backup, detail }) => `FAULT ${kind} in backup ${backup}: ${detail}`)
}

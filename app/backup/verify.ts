import type { BackupKeys } from '../../platform/backup/backup-keys.ts'
import { backupIds, openManifest, putVerified, removeVerified } from '../../platform/backup/manifests.ts'
import type { BackupPlace } from '../../platform/backup/place.ts'
import { verifyBackups, type BackupFault, type BackupsChecked } from '../../platform/backup/verify-backups.ts'

/** All backups of a place, or one. Notes in the place that they were verified, and of a damaged one that it is not any more. */
export async function verifyPlace(
  place: BackupPlace,
  keys: BackupKeys,
  id: string | undefined,
): Promise<BackupsChecked> {
  const ids = id === undefined ? await backupIds(place) : [id]
  if (ids.length === 0) throw new Error(`there is no backup in ${place.address}`)
  const checked = await verifyBackups(place, keys, ids)
  for (const each of checked.intact) {
    const { key } = await openManifest(place, keys, each)
    await putVerified(place, key, each, new Date())
  }
  // As verified it would be kept in place of an older one that is intact.
  for (const each of checked.damaged) await removeVerified(place, each)
  await place.flush()
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

import type { BackupKeys } from '../../platform/backup/backup-keys.ts'
import { backupIds, ManifestError, openManifest, putVerified, removeVerified } from '../../platform/backup/manifests.ts'
import type { BackupPlace } from '../../platform/backup/place.ts'
import { verifyBackups, type BackupFault, type BackupsChecked } from '../../platform/backup/verify-backups.ts'

/**
 * All backups of a place, or one. Notes in the place that they were verified, and of a damaged one that it is not any more.
 * @param say receives why there is no such note: a place that takes none must not cost the result, which may have taken
 * hours
 */
export async function verifyPlace(
  place: BackupPlace,
  keys: BackupKeys,
  id: string | undefined,
  say: (line: string) => void,
): Promise<BackupsChecked> {
  const listed = await backupIds(place)
  const ids = id === undefined ? listed : [id]
  if (ids.length === 0) throw new Error(`there is no backup in ${place.address}`)
  const checked = await verifyBackups(place, keys, ids)
  // `backup prune` may have removed some while they were read. What they lack is no fault.
  const left = await backupIds(place)
  const isLeft = (each: string) => left.includes(each) || !listed.includes(each)
  const [faults, intact, damaged] = [
    checked.faults.filter(({ backup }) => isLeft(backup)),
    checked.intact.filter(isLeft),
    checked.damaged.filter(isLeft),
  ]
  const ofLeft = { ...checked, backups: ids.filter(isLeft).length, faults, intact, damaged }
  if (ofLeft.backups === 0) throw new Error(`each backup was removed from ${place.address} while it was read`)
  await note(place, keys, ofLeft).catch((error: unknown) =>
    say(`the result is not noted in ${place.address}: ${error instanceof Error ? error.message : String(error)}`),
  )
  return ofLeft
}

async function note(place: BackupPlace, keys: BackupKeys, { intact, damaged }: BackupsChecked): Promise<void> {
  // As verified it would be kept in place of an older one that is intact.
  for (const each of damaged) await removeVerified(place, each)
  for (const each of intact) {
    const opened = await openManifest(place, keys, each).catch((error: unknown) => {
      // Removed meanwhile.
      if (error instanceof ManifestError) return undefined
      throw error
    })
    if (opened !== undefined) await putVerified(place, opened.key, each, new Date())
  }
  await place.flush()
}

/** Faults are named up to a number only, so the backups that are intact count. */
export function isWhole({ backups, intact }: Pick<BackupsChecked, 'backups' | 'intact'>): boolean {
  return intact.length === backups
}

export function verifiedText(checked: BackupsChecked): string {
  const { backups, bytes, faults, intact } = checked
  const count = (number: number) => number.toLocaleString('en')
  return [
    ...faultLines(faults),
    isWhole(checked)
      ? `Complete and unchanged: backups ${count(backups)}, bytes ${count(bytes)}.`
      : `Faults: ${count(faults.length)}, in ${count(backups - intact.length)} of ${count(backups)} backups.`,
  ].join('\n')
}

export function faultLines(faults: readonly BackupFault[]): readonly string[] {
  return faults.map(({ kind, backup, detail }) => `FAULT ${kind} in backup ${backup}: ${detail}`)
}

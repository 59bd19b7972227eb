import type { BackupKeys } from '../../platform/backup/backup-keys.ts'
import { backupIds, ManifestError, openManifest, verifiedAt } from '../../platform/backup/manifests.ts'
import type { BackupPlace } from '../../platform/backup/place.ts'
import { eventsText } from './events-text.ts'

export interface ListedBackup {
  readonly id: string
  readonly created_at: string
  readonly position: string | null
  /** Null if the event store was copied by its own means. */
  readonly events: number | null
  readonly bytes: number
  readonly verified_at: string | null
}

/** Newest first. A manifest that does not open is a fault. */
export async function listBackups(
  place: BackupPlace,
  keys: BackupKeys,
): Promise<{ readonly backups: readonly ListedBackup[]; readonly faults: readonly string[] }> {
  const backups: ListedBackup[] = []
  const faults: string[] = []
  for (const id of (await backupIds(place)).toReversed()) {
    try {
      const { created_at, position, events, bytes } = (await openManifest(place, keys, id)).manifest
      backups.push({ id, created_at, position, events, bytes, verified_at: await verifiedAt(place, keys, id) })
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error
      faults.push(`FAULT ${error.code}: ${error.message}`)
    }
  }
  return { backups, faults }
}

export function listText(backups: readonly ListedBackup[], faults: readonly string[]): string {
  const lines = backups.map(
    ({ id, created_at: createdAt, events, bytes, verified_at: at }) =>
      `${id}  ${createdAt}  ${eventsText(events)}  ${bytes.toLocaleString('en')} bytes  ${at === null ? 'NOT VERIFIED' : `verified ${at}`}`,
  )
  return lines.length + faults.length === 0 ? 'There is no backup.' : [...lines, ...faults].join('\n')
}

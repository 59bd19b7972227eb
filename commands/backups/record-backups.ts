import type { Decision } from '../../engine/commands/decision.ts'
import type { DataOf } from '../../engine/store/events.ts'
import type { BackupState } from '../../streams/backups/aggregate.ts'
import type { BackupEvent } from '../../streams/backups/events.ts'

/** A backup that is older than the newest one changes nothing, unless that one is of a clock that was ahead. */
export function recordVerified(
  data: DataOf<BackupEvent, 'BackupVerified'>,
  { newestAt }: BackupState,
): Decision<BackupEvent> {
  const hasNewer = newestAt !== null && newestAt >= data.createdAt && newestAt <= data.verifiedAt
  return hasNewer ? [] : [{ type: 'BackupVerified', data }]
}

/** A restore that was recorded is not recorded again. */
export function recordRestored(
  data: DataOf<BackupEvent, 'BackupRestored'>,
  { held }: BackupState,
): Decision<BackupEvent> {
  return held?.backupId === data.backupId ? [] : [{ type: 'BackupRestored', data }]
}

/** Does nothing if no calls are held. */
export function releaseCalls(
  { by, now }: { readonly by: string; readonly now: Date },
  { held }: BackupState,
): Decision<BackupEvent> {
  if (held === null) return []
  return [{ type: 'OutsideCallsReleased', data: { backupId: held.backupId, releasedAt: now.toISOString(), by } }]
}

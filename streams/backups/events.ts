import { Type } from 'typebox'
import { Instant, Nullable } from '../../engine/aggregates/types.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'

/** `commit/prepare` of the last event of a backup. Null for one without events. */
const LastPosition = Nullable(Type.String({ pattern: '^\\d{1,20}/\\d{1,20}$' }))
/** Account of the operating system. */
const Account = Type.String()

export const backupEvents = {
  /** A backup was written and read again. Every chunk is what was stored. */
  BackupVerified: defineEvent(
    'BackupVerified',
    Type.Object({
      backupId: Type.String(),
      position: LastPosition,
      /** Null if the event store was copied by its own means. */
      events: Nullable(Type.Integer({ minimum: 0 })),
      bytes: Type.Integer({ minimum: 0 }),
      createdAt: Instant,
      verifiedAt: Instant,
    }),
  ),
  /** This event store, its vault and its objects are those of a backup. Calls to systems outside are held from here on. */
  BackupRestored: defineEvent(
    'BackupRestored',
    Type.Object({
      backupId: Type.String(),
      position: LastPosition,
      /** When the last event of the backup was recorded. */
      factsUntil: Nullable(Instant),
      restoredAt: Instant,
      by: Account,
    }),
  ),
  /** An operator let the calls go. */
  OutsideCallsReleased: defineEvent(
    'OutsideCallsReleased',
    Type.Object({ backupId: Type.String(), releasedAt: Instant, by: Account }),
  ),
} as const

export type BackupEvent = EventOf<typeof backupEvents>

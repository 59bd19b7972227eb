import { Type } from 'typebox'
import { ChangedBy } from '../organisation-roles/events.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant, OrgId } from '../../engine/aggregates/types.ts'
import { NotificationCategory, NotificationChannel } from '../types.ts'

export const notificationPreferencesEvents = {
  /** The entries that the change concerns. All others stay. */
  NotificationPreferencesSet: defineEvent(
    'NotificationPreferencesSet',
    Type.Object({
      userId: Id,
      /** The organisation in which the entries were set. */
      organisationId: OrgId,
      entries: Type.Array(
        Type.Object({ category: NotificationCategory, channel: NotificationChannel, optedOut: Type.Boolean() }),
        { minItems: 1 },
      ),
      /** Or `unsubscribe-link`: someone used the link in a message to the user. */
      changedBy: ChangedBy,
      setAt: Instant,
    }),
  ),
} as const

export type NotificationPreferencesEvent = EventOf<typeof notificationPreferencesEvents>

import { Type } from 'typebox'
import { NotificationErrorCode, SuppressionReason } from '../notification/events.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Nullable } from '../../engine/aggregates/types.ts'
import { NotificationChannel } from '../types.ts'
import { defineChannelStream, publicData } from '../../engine/aggregates/channel-stream.ts'

const payload = {
  notificationId: Id,
  templateCode: Type.String(),
  channel: NotificationChannel,
  /** Absent if the cause of the notification named no organisation. */
  orgId: Type.Optional(Id),
  correlationId: Nullable(Type.String()),
}

/** Stream of the public notification events (specification 6). */
export const notificationChannelStream = defineChannelStream({
  name: 'notification.events',
  organisationMember: 'orgId',
  events: {
    sent: defineEvent('notification.sent', publicData(payload)),
    failed: defineEvent(
      'notification.failed',
      publicData({ ...payload, errorCode: NotificationErrorCode, finalAttempt: Type.Boolean() }),
    ),
    suppressed: defineEvent('notification.suppressed', publicData({ ...payload, reason: SuppressionReason })),
  },
})

export type NotificationChannelEvent = EventOf<typeof notificationChannelStream.events>

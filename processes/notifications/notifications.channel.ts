import { notificationChannelStream } from '../../streams/channels/notification.ts'
import { notifications } from '../../streams/notification/aggregate.ts'
import type { NotificationEvent } from '../../streams/notification/events.ts'
import { defineChannel } from '../../engine/relay/channel.ts'

type Sent = Extract<NotificationEvent, { type: 'NotificationSent' }>['data']

function payloadOf({
  notificationId,
  templateCode,
  channel,
  correlationId,
}: Pick<Sent, 'notificationId' | 'templateCode' | 'channel' | 'correlationId'>) {
  return { notificationId, templateCode, channel, correlationId }
}

/**
 * The ends of notifications, without recipients and variables. The hop of a notification counts the public events
 * before it, so a rule about notifications cannot notify about itself for ever.
 */
export const notificationChannel = defineChannel({
  stream: notificationChannelStream,
  sources: [notifications],
  translate: {
    NotificationSent: ({ data }, publish) => [
      { ...publish('notification.sent', data.sentAt, payloadOf(data)), hop: data.hop },
    ],
    NotificationFailed: ({ data }, publish) => {
      const { errorCode, finalAttempt, failedAt } = data
      const payload = { ...payloadOf(data), errorCode, finalAttempt }
      return [{ ...publish('notification.failed', failedAt, payload), hop: data.hop }]
    },
    NotificationSuppressed: ({ data }, publish) => {
      const payload = { ...payloadOf(data), reason: data.reason }
      return [{ ...publish('notification.suppressed', data.suppressedAt, payload), hop: data.hop }]
    },
  },
})

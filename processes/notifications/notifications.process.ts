import { defineTable } from '../../engine/projections/projector.ts'
import { insertRow, removeRow } from '../../engine/projections/row-changes.ts'
import { channelStreams } from '../../streams/channels/channel-streams.ts'
import type { ForeignEvent } from '../../streams/foreign-event/events.ts'
import type { NotificationSubscriptionEvent } from '../../streams/notification-subscription/events.ts'
import type { NotificationEvent } from '../../streams/notification/events.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { defineProcess } from '../../engine/processes/define-process.ts'
import { createKeyOf } from './matches.ts'
import { steps } from './notifications.steps.ts'
import { createForEachRule, createForEachRuleOfForeign, keepRule, rules } from './rules.ts'

/** Events that a rule matched and that made no notification. */
export const discardedEvents = defineTable({
  name: 'discarded_events',
  columns: { notification_id: 'text', reason: 'text', discarded_at: 'timestamptz' },
  primaryKey: ['notification_id'],
  indexes: [{ columns: ['discarded_at'] }],
})

/** A rule may match any event of any channel of ours. */
const ofEveryChannelEvent = Object.fromEntries(
  channelStreams.flatMap(({ events }) => Object.values(events).map(({ type }) => [type, createForEachRule])),
)

/** One notification for each rule and event, and the attempts to deliver each notification. */
export const notificationsProcess = defineProcess<
  NotificationSubscriptionEvent | NotificationEvent | ForeignEvent,
  ProcessDependencies
>()({
  name: 'notifications',
  version: 1,
  lookups: [rules, discardedEvents],
  concurrency: ({ configuration: { notificationWorkers: workers, stepTimeoutMs } }) => ({
    workers,
    // Some are left for the other channel, also before a provider that hangs has reached its time limit.
    perKey: Math.max(1, Math.ceil(workers * 0.75)),
    stepTimeoutMs,
  }),
  steps,
  on: {
    ...ofEveryChannelEvent,
    ForeignEventReceived: createForEachRuleOfForeign,
    NotificationSubscriptionCreated: ({ data }) => keepRule(data),
    NotificationSubscriptionChanged: ({ data }) => keepRule(data),
    NotificationSubscriptionDeleted: ({ data }) => [removeRow(rules, { subscriptionId: data.subscriptionId })],
    NotificationCreated: ({ data: { notificationId, organisationId, trigger, channel, createdAt } }, todo) => [
      ...(trigger === null ? [] : [todo.clear(createKeyOf({ ...trigger, organisationId }), 'create')]),
      todo.schedule('deliver', notificationId, { at: createdAt, concurrencyKey: channel, payload: { channel } }),
    ],
    NotificationDiscarded: ({ data: { notificationId, organisationId, trigger, reason, discardedAt } }, todo) => [
      todo.clear(createKeyOf({ ...trigger, organisationId }), 'create'),
      insertRow(discardedEvents, { notificationId, reason, discardedAt }),
    ],
    // A failed notification has no row any more.
    NotificationQueued: ({ data: { notificationId, channel, nextAttemptAt: at } }, todo) => [
      todo.schedule('deliver', notificationId, {
        at,
        existing: 'replace',
        concurrencyKey: channel,
        payload: { channel },
      }),
    ],
    NotificationRetryScheduled: ({ data }, todo) => [todo.move('deliver', data.notificationId, data.nextAttemptAt)],
    NotificationAttemptWithdrawn: ({ data }, todo) => [todo.move('deliver', data.notificationId, data.nextAttemptAt)],
    NotificationSent: ({ data }, todo) => [todo.clear(data.notificationId, 'deliver')],
    NotificationSuppressed: ({ data }, todo) => [todo.clear(data.notificationId, 'deliver')],
    NotificationFailed: ({ data }, todo) => [todo.clear(data.notificationId, 'deliver')],
  },
})

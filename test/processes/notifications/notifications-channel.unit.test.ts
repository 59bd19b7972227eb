import { expect, it } from 'vitest'
import { publicEvents } from '../../../engine/relay/envelope.ts'
import { notificationChannel } from '../../../processes/notifications/notifications.channel.ts'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import type { NotificationEvent } from '../../../streams/notification/events.ts'
import { at, ids } from '../../streams/facts.ts'
import { notificationFact, notificationIds, ownNotification } from '../../streams/notification-facts.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'
import { storeOf } from '../../support/store-of.ts'

const payload = {
  notificationId: notificationIds.notification,
  templateCode: 'assessment-completed',
  channel: 'email',
  orgId: ids.org,
  correlationId: 'order-7',
  hop: 1,
}

async function published(event: NotificationEvent, given: GivenEvent = ownNotification(event)) {
  const [source] = recorded([given])
  if (source === undefined) throw new Error('nothing recorded')
  const outputs = (await notificationChannel.translate[event.type]?.(source, { store: storeOf([]) })) ?? []
  const events = publicEvents(notificationChannel, source, outputs)
  for (const { type, data } of events) {
    expect(catalogue.entry(type)?.refusals(data)).toEqual([])
    expect(JSON.stringify(data)).not.toContain('canary')
  }
  return events.map(({ type, data }) => ({ type, data }))
}

it('the channel publishes each end with the hop of the notification, without recipient and variables', async () => {
  expect(await published(notificationFact('NotificationSent'))).toMatchObject([
    { type: 'notification.sent', data: { ...payload, occurred_at: at(33) } },
  ])
  const failure = { errorCode: 'provider_4xx', finalAttempt: false }
  expect(await published(notificationFact('NotificationFailed'))).toMatchObject([
    { type: 'notification.failed', data: { ...payload, ...failure, occurred_at: at(33) } },
  ])
  expect(await published(notificationFact('NotificationSuppressed'))).toMatchObject([
    { type: 'notification.suppressed', data: { ...payload, reason: 'suppression_list', occurred_at: at(33) } },
  ])
})

it('an end without an organisation names none', async () => {
  const event = notificationFact('NotificationSent')
  const { stream } = notifications.of(noOrganisation, notificationIds.notification)
  const [sent] = await published(event, { ...event, stream })
  expect(sent).toMatchObject({ type: 'notification.sent', data: { notificationId: notificationIds.notification } })
  expect(sent?.data).not.toHaveProperty('orgId')
})

it.each([
  notificationFact('NotificationCreated'),
  notificationFact('NotificationDiscarded'),
  notificationFact('NotificationQueued'),
  notificationFact('NotificationAttemptStarted'),
  notificationFact('NotificationAttemptWithdrawn'),
  notificationFact('NotificationRetryScheduled'),
])('$type is not public', async (event) => {
  expect(await published(event)).toEqual([])
})

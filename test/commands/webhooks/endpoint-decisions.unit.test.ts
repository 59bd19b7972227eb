import { describe, expect, it } from 'vitest'
import { cancelDelivery } from '../../../commands/webhooks/cancel-delivery.ts'
import { recordDelivery } from '../../../commands/webhooks/deliver-webhook.ts'
import { disableGone, nextReviewOf, reviewEndpoint } from '../../../commands/webhooks/review-endpoint.ts'
import { webhookDeliveries } from '../../../streams/webhook-delivery/aggregate.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { given } from '../../support/given-decider.ts'
import { at, ids } from '../../streams/facts.ts'
import { deliveryFact, subscriptionFact } from '../../streams/webhook-facts.ts'

const scheduled = deliveryFact('WebhookDeliveryScheduled')
const attempted = deliveryFact('WebhookDeliveryAttempted')

describe('cancelling a delivery', () => {
  const { scheduledAt: _, ...delivery } = scheduled.data
  const command = { delivery, reason: 'subscription_disabled' as const, disabledRevision: 1, now: new Date(at(60)) }
  const cancelled = deliveryFact('WebhookDeliveryCancelled', { cancelledAt: at(60) })

  it('ends a pending delivery, also before its first attempt, once', () => {
    given(webhookDeliveries)
      .when(cancelDelivery, command)
      .thenEvents([deliveryFact('WebhookDeliveryScheduled', { scheduledAt: at(60) }), cancelled])
    given(webhookDeliveries, scheduled, attempted, deliveryFact('WebhookDeliveryAttemptFailed'))
      .when(cancelDelivery, command)
      .thenEvents([cancelled])
    given(webhookDeliveries, scheduled, cancelled).when(cancelDelivery, command).thenNothing()
  })

  it('waits for an open attempt, but not for one that a crash interrupted', () => {
    given(webhookDeliveries, scheduled, attempted)
      .when(cancelDelivery, { ...command, now: new Date(at(50)) })
      .thenNothing()
    given(webhookDeliveries, scheduled, attempted).when(cancelDelivery, command).thenEvents([cancelled])
  })

  it('begins another round if any request came after the disabling', () => {
    const pending = [scheduled, attempted, deliveryFact('WebhookDeliveryAttemptFailed')]
    const asked = (endpointRevision: number | null) => deliveryFact('WebhookRedeliveryUnneeded', { endpointRevision })
    const again = deliveryFact('WebhookRedeliveryRequested', {
      endpointRevision: 2,
      request: null,
      requestedAt: at(60),
    })
    given(webhookDeliveries, ...pending, asked(2))
      .when(cancelDelivery, command)
      .thenEvents([cancelled, again])
    for (const revision of [0, null])
      given(webhookDeliveries, ...pending, asked(revision))
        .when(cancelDelivery, command)
        .thenEvents([cancelled])
    given(webhookDeliveries, ...pending, asked(2))
      .when(cancelDelivery, { ...command, disabledRevision: 3 })
      .thenEvents([cancelled])
    const deleted = { ...command, reason: 'subscription_deleted' as const, disabledRevision: null }
    given(webhookDeliveries, ...pending, asked(2))
      .when(cancelDelivery, deleted)
      .thenEvents([deliveryFact('WebhookDeliveryCancelled', { cancelledAt: at(60), reason: 'subscription_deleted' })])
    given(webhookDeliveries, scheduled, attempted, asked(2))
      .when(cancelDelivery, { ...command, now: new Date(at(50)) })
      .thenNothing()
  })

  it('does not end a round that began after the disabling', () => {
    const round = (endpointRevision: number) => [
      scheduled,
      attempted,
      deliveryFact('WebhookDeliveryFailed'),
      deliveryFact('WebhookRedeliveryRequested', { endpointRevision }),
    ]
    given(webhookDeliveries, ...round(2))
      .when(cancelDelivery, command)
      .thenNothing()
    given(webhookDeliveries, ...round(0))
      .when(cancelDelivery, command)
      .thenEvents([cancelled])
  })

  it('does not change an ended delivery', () => {
    for (const end of [deliveryFact('WebhookDelivered'), deliveryFact('WebhookDeliveryFailed')]) {
      given(webhookDeliveries, scheduled, attempted, end).when(cancelDelivery, command).thenNothing()
    }
  })

  it('records the attempt that was under way, with any outcome', () => {
    const record = { attempt: 1, durationMs: 120, now: new Date(at(32)) }
    const amid = () => given(webhookDeliveries, scheduled, attempted, cancelled)
    amid()
      .when(recordDelivery, { ...record, outcome: { kind: 'delivered', statusCode: 204 } })
      .thenEvents([deliveryFact('WebhookDelivered')])
    const failed = deliveryFact('WebhookDeliveryAttemptFailed', { nextAttemptAt: null })
    const { statusCode, errorClass, endpoint } = failed.data
    for (const nextAttemptAt of [null, new Date(at(37))]) {
      const outcome = { kind: 'failed' as const, statusCode, errorClass, endpoint, nextAttemptAt }
      amid()
        .when(recordDelivery, { ...record, outcome })
        .thenEvents([failed])
    }
    const { state } = given(webhookDeliveries, scheduled, attempted, cancelled, failed)
    expect(state).toMatchObject({
      status: 'cancelled',
      finishedAttempts: 1,
      openLeaseUntil: null,
      nextAttemptAt: null,
      attempts: [{ attempt: 1, statusCode: 500 }],
    })
  })
})

const dayMs = 86_400_000
const failingSince = at(32)
const days = (count: number) => new Date(Date.parse(failingSince) + count * dayMs)
const review = (after: number) => ({
  subscriptionId: ids.subscription,
  endpointRevision: 0,
  failingSince,
  now: days(after),
  disableAfterMs: 5 * dayMs,
})
const subscribed = subscriptionFact('WebhookSubscribed')
const warned = (percent: 50 | 70 | 90, next: number, of = failingSince) =>
  subscriptionFact('WebhookEndpointFailing', { percent, failingSince: of, nextReviewAt: days(next).toISOString() })

describe('reviewing an endpoint without a success', () => {
  const warning = (percent: 50 | 70 | 90, after: number, next: number, end = 5) =>
    subscriptionFact('WebhookEndpointFailing', {
      percent,
      failingSince,
      disableAt: days(end).toISOString(),
      nextReviewAt: days(next).toISOString(),
      warnedAt: days(after).toISOString(),
    })

  it.each([
    [[], 50, 2.5, 3.5],
    [[warned(50, 3.5)], 70, 3.5, 4.5],
    [[warned(70, 4.5)], 90, 4.5, 5],
  ] as const)('after %j warns when %d %% of its time have passed, once', (before, percent, after, next) => {
    given(webhookSubscriptions, subscribed, ...before)
      .when(reviewEndpoint, review(after))
      .thenEvents([warning(percent, after, next)])
    given(webhookSubscriptions, subscribed, warned(percent, next)).when(reviewEndpoint, review(after)).thenNothing()
  })

  it('does not count the warnings of an earlier series of failures', () => {
    given(webhookSubscriptions, subscribed, warned(90, 5, at(0)))
      .when(reviewEndpoint, review(2.5))
      .thenEvents([warning(50, 2.5, 3.5)])
  })

  it('disables the subscription at the end of its time, once', () => {
    const disabled = subscriptionFact('WebhookSubscriptionDisabled', {
      reason: 'no_success',
      disabledAt: days(5).toISOString(),
    })
    given(webhookSubscriptions, subscribed, warned(90, 5)).when(reviewEndpoint, review(5)).thenEvents([disabled])
    given(webhookSubscriptions, subscribed, warned(90, 5), disabled).when(reviewEndpoint, review(5)).thenNothing()
  })

  it('delays all further reviews by the time that a review is late', () => {
    given(webhookSubscriptions, subscribed)
      .when(reviewEndpoint, review(6))
      .thenEvents([warning(50, 6, 7, 8.5)])
    given(webhookSubscriptions, subscribed, warned(50, 7))
      .when(reviewEndpoint, review(7.5))
      .thenEvents([warning(70, 7.5, 8.5, 9)])
  })

  it('begins the last tenth again if the last review is late', () => {
    const disabled = (after: number) =>
      subscriptionFact('WebhookSubscriptionDisabled', { reason: 'no_success', disabledAt: days(after).toISOString() })
    given(webhookSubscriptions, subscribed, warned(90, 5))
      .when(reviewEndpoint, review(5.04))
      .thenEvents([disabled(5.04)])
    given(webhookSubscriptions, subscribed, warned(90, 5))
      .when(reviewEndpoint, review(6))
      .thenEvents([warning(90, 6, 6.5, 6.5)])
    given(webhookSubscriptions, subscribed, warned(90, 6.5))
      .when(reviewEndpoint, review(6.5))
      .thenEvents([disabled(6.5)])
  })

  it('returns the time of the next review if no warning is due', () => {
    given(webhookSubscriptions, subscribed).when(reviewEndpoint, review(1)).thenNothing()
    expect(nextReviewOf(review(1), given(webhookSubscriptions, subscribed).state)).toEqual({
      at: days(2.5),
      percent: 50,
    })
    expect(nextReviewOf(review(1), given(webhookSubscriptions, subscribed, warned(70, 4.5)).state)).toEqual({
      at: days(4.5),
      percent: 90,
    })
  })
})

describe('a changed endpoint', () => {
  const since = [
    [subscriptionFact('WebhookSubscriptionChanged')],
    [subscriptionFact('WebhookSubscriptionDisabled')],
    [subscriptionFact('WebhookSubscriptionDisabled'), subscriptionFact('WebhookSubscriptionEnabled')],
    [subscriptionFact('WebhookSubscriptionDeleted')],
  ]

  it('is not responsible for earlier failures or a 410', () => {
    for (const changes of since) {
      const events = [subscribed, ...changes]
      given(webhookSubscriptions, ...events)
        .when(reviewEndpoint, review(5))
        .thenNothing()
      given(webhookSubscriptions, ...events)
        .when(disableGone, review(5))
        .thenNothing()
      expect(nextReviewOf(review(1), given(webhookSubscriptions, ...events).state)).toBeNull()
    }
  })

  it('is not one with another description, secret or events', () => {
    const disabled = subscriptionFact('WebhookSubscriptionDisabled', {
      reason: 'gone',
      disabledAt: days(1).toISOString(),
    })
    const same = [
      subscriptionFact('WebhookSubscriptionChanged', { isNewEndpoint: false }),
      subscriptionFact('WebhookSecretRotated'),
    ]
    given(webhookSubscriptions, subscribed, ...same)
      .when(disableGone, review(1))
      .thenEvents([disabled])
  })
})

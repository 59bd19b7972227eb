import { describe, expect, it } from 'vitest'
import { cancelDelivery } from '../../../commands/webhooks/cancel-delivery.ts'
import { recordDelivery } from '../../../commands/webhooks/deliver-webhook.ts'
import { disableGone, nextReviewOf, reviewEndpoint } from '../../../commands/webhooks/review-endpoint.ts'
import { webhookDeliveryFold } from '../../../streams/webhook-delivery/state.ts'
import { webhookSubscriptionsFold } from '../../../streams/webhook-subscriptions/state.ts'
import { given } from '../../support/given-decider.ts'
import { at, ids } from '../../streams/facts.ts'
import { deliveryFact, subscriptionFact } from '../../streams/webhook-facts.ts'

const scheduled = deliveryFact('WebhookDeliveryScheduled')
const attempted = deliveryFact('WebhookDeliveryAttempted')

describe('cancelling a delivery', () => {
  const { scheduledAt: _, ...delivery } = scheduled.data
  const command = { delivery, reason: 'subscription_disabled' as const, now: new Date(at(60)) }
  const cancelled = deliveryFact('WebhookDeliveryCancelled', { cancelledAt: at(60) })

  it('ends one that is pending, also one that was never attempted, once', () => {
    given(webhookDeliveryFold).when(cancelDelivery, command).thenEvents([deliveryFact('WebhookDeliveryScheduled', { scheduledAt: at(60) }), cancelled])
    given(webhookDeliveryFold, scheduled, attempted, deliveryFact('WebhookDeliveryAttemptFailed')).when(cancelDelivery, command).thenEvents([cancelled])
    given(webhookDeliveryFold, scheduled, cancelled).when(cancelDelivery, command).thenNothing()
  })

  it('waits for an attempt that is open, and for none that a crash cut off', () => {
    given(webhookDeliveryFold, scheduled, attempted).when(cancelDelivery, { ...command, now: new Date(at(50)) }).thenNothing()
    given(webhookDeliveryFold, scheduled, attempted).when(cancelDelivery, command).thenEvents([cancelled])
  })

  it('leaves what has ended as it is', () => {
    for (const end of [deliveryFact('WebhookDelivered'), deliveryFact('WebhookDeliveryFailed')]) {
      given(webhookDeliveryFold, scheduled, attempted, end).when(cancelDelivery, command).thenNothing()
    }
  })

  it('is overtaken by a receiver that took it, not by one that did not', () => {
    const record = { attempt: 1, durationMs: 120, now: new Date(at(32)) }
    const state = given(webhookDeliveryFold, scheduled, attempted, cancelled)
    state.when(recordDelivery, { ...record, outcome: { kind: 'delivered', statusCode: 204 } }).thenEvents([deliveryFact('WebhookDelivered')])
    const failure = { kind: 'failed' as const, statusCode: 500, errorClass: 'http_status' as const, nextAttemptAt: null, endpoint: null }
    given(webhookDeliveryFold, scheduled, attempted, cancelled).when(recordDelivery, { ...record, outcome: failure }).thenNothing()
  })
})

const dayMs = 86_400_000
const failingSince = at(32)
const days = (count: number) => new Date(Date.parse(failingSince) + count * dayMs)
const review = (after: number) => ({ subscriptionId: ids.subscription, endpointRevision: 0, failingSince, now: days(after), disableAfterMs: 5 * dayMs })
const subscribed = subscriptionFact('WebhookSubscribed')
const warned = (percent: 50 | 70 | 90, of = failingSince) => subscriptionFact('WebhookEndpointFailing', { percent, failingSince: of })

describe('reviewing an endpoint that takes nothing', () => {
  const warning = (percent: 50 | 70 | 90, after: number, next: number) => subscriptionFact('WebhookEndpointFailing', {
    percent, failingSince, disableAt: days(5).toISOString(), nextReviewAt: days(next).toISOString(), warnedAt: days(after).toISOString(),
  })

  it.each([
    [50, 2.5, 3.5],
    [70, 3.6, 4.5],
    [90, 4.99, 5],
  ] as const)('warns when %d %% of its time have passed, once', (percent, after, next) => {
    given(webhookSubscriptionsFold, subscribed).when(reviewEndpoint, review(after)).thenEvents([warning(percent, after, next)])
    given(webhookSubscriptionsFold, subscribed, warned(percent)).when(reviewEndpoint, review(after)).thenNothing()
  })

  it('does not count the warnings of an earlier row of failures', () => {
    given(webhookSubscriptionsFold, subscribed, warned(90, at(0))).when(reviewEndpoint, review(2.5)).thenEvents([warning(50, 2.5, 3.5)])
  })

  it('disables the subscription at the end of its time, once', () => {
    const disabled = subscriptionFact('WebhookSubscriptionDisabled', { reason: 'no_success', disabledAt: days(5).toISOString() })
    given(webhookSubscriptionsFold, subscribed).when(reviewEndpoint, review(5)).thenEvents([disabled])
    given(webhookSubscriptionsFold, subscribed, disabled).when(reviewEndpoint, review(5)).thenNothing()
  })

  it('says when to look again where there is nothing to say yet', () => {
    given(webhookSubscriptionsFold, subscribed).when(reviewEndpoint, review(1)).thenNothing()
    expect(nextReviewOf(review(1), given(webhookSubscriptionsFold, subscribed).state)).toEqual(days(2.5))
    expect(nextReviewOf(review(1), given(webhookSubscriptionsFold, subscribed, warned(70)).state)).toEqual(days(4.5))
  })
})

describe('an endpoint that is another one by now', () => {
  const since = [
    [subscriptionFact('WebhookSubscriptionChanged')],
    [subscriptionFact('WebhookSubscriptionDisabled')],
    [subscriptionFact('WebhookSubscriptionDisabled'), subscriptionFact('WebhookSubscriptionEnabled')],
    [subscriptionFact('WebhookSubscriptionDeleted')],
  ]

  it('does not answer for failures, nor for a 410', () => {
    for (const changes of since) {
      const events = [subscribed, ...changes]
      given(webhookSubscriptionsFold, ...events).when(reviewEndpoint, review(5)).thenNothing()
      given(webhookSubscriptionsFold, ...events).when(disableGone, review(5)).thenNothing()
      expect(nextReviewOf(review(1), given(webhookSubscriptionsFold, ...events).state)).toBeNull()
    }
  })

  it('is not one whose description, secret or events have changed', () => {
    const disabled = subscriptionFact('WebhookSubscriptionDisabled', { reason: 'gone', disabledAt: days(1).toISOString() })
    const same = [subscriptionFact('WebhookSubscriptionChanged', { isNewEndpoint: false }), subscriptionFact('WebhookSecretRotated')]
    given(webhookSubscriptionsFold, subscribed, ...same).when(disableGone, review(1)).thenEvents([disabled])
  })
})

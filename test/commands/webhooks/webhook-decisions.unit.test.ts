import { describe, expect, it } from 'vitest'
import {
  attemptDelivery,
  recordDelivery,
  waitsUntil,
  type DeliveryOutcome,
} from '../../../commands/webhooks/deliver-webhook.ts'
import { duplicateOf, subscribeWebhook } from '../../../commands/webhooks/subscribe-webhook.ts'
import { webhookDeliveries } from '../../../streams/webhook-delivery/aggregate.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import { deliveryFact as fact, subscriptionFact } from '../../streams/webhook-facts.ts'
import { given } from '../../support/given-decider.ts'

describe('subscribing a webhook', () => {
  const subscribed = subscriptionFact('WebhookSubscribed', { fingerprint: hash('f') })
  const { createdAt: _, ...data } = subscribed.data
  const command = { ...data, now: new Date(at(0)) }
  const other = (number: number) =>
    subscriptionFact('WebhookSubscribed', {
      subscriptionId: `00000000-0000-4000-8000-0000000007${String(number).padStart(2, '0')}`,
      url: `https://receiver.example/${number}`,
    })
  const others = (count: number) => Array.from({ length: count }, (_each, number) => other(number))

  it('happens once, with its event types sorted and without repeats', () => {
    const shuffled = {
      ...command,
      eventTypes: ['assessment.failed', 'assessment.completed', 'assessment.failed'] as const,
    }
    given(webhookSubscriptions).when(subscribeWebhook, shuffled).thenEvents([subscribed])
  })

  it('does nothing for an existing address with the same events, in any order', () => {
    const again = {
      ...command,
      subscriptionId: ids.event,
      eventTypes: ['assessment.failed', 'assessment.completed'] as const,
    }
    const { state } = given(webhookSubscriptions, subscribed)
    given(webhookSubscriptions, subscribed).when(subscribeWebhook, again).thenNothing()
    expect(duplicateOf(again, state)?.subscriptionId).toBe(ids.subscription)
    expect(duplicateOf({ ...again, eventTypes: ['assessment.failed'] }, state)).toBeUndefined()
    expect(duplicateOf({ ...again, url: 'https://receiver.example/other' }, state)).toBeUndefined()
  })

  it('allows twenty, and refuses the twenty-first but not a duplicate or a repeat', () => {
    given(webhookSubscriptions, ...others(19))
      .when(subscribeWebhook, command)
      .thenEvents([subscribed])
    given(webhookSubscriptions, ...others(20))
      .when(subscribeWebhook, command)
      .thenRefused('subscription-limit')
    given(webhookSubscriptions, ...others(20))
      .when(subscribeWebhook, { ...command, url: other(3).data.url })
      .thenNothing()
    given(webhookSubscriptions, ...others(19), subscribed)
      .when(subscribeWebhook, command)
      .thenNothing()
  })

  it('refuses another body under the same key', () => {
    given(webhookSubscriptions, subscribed)
      .when(subscribeWebhook, { ...command, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
  })
})

const scheduled = fact('WebhookDeliveryScheduled')
const attempted = fact('WebhookDeliveryAttempted')
const attemptFailed = fact('WebhookDeliveryAttemptFailed')
const { endpoint } = attemptFailed.data
const ended = [fact('WebhookDelivered'), fact('WebhookDeliveryFailed')]

describe('attempting a delivery', () => {
  const { scheduledAt: _, ...delivery } = scheduled.data
  const command = { delivery, shown: null, now: new Date(at(31)), leaseUntil: new Date(at(51)) }

  it('begins with the delivery itself, and waits while a lease is open', () => {
    given(webhookDeliveries).when(attemptDelivery, command).thenEvents([scheduled, attempted])
  })

  it('counts only attempts with a known outcome, and repeats one that a crash interrupted under its number', () => {
    const late = { ...command, now: new Date(at(51)), leaseUntil: new Date(at(71)) }
    const again = fact('WebhookDeliveryAttempted', { attempt: 1, attemptedAt: at(51), leaseUntil: at(71) })
    given(webhookDeliveries, scheduled, attempted).when(attemptDelivery, late).thenEvents([again])
    const second = fact('WebhookDeliveryAttempted', { attempt: 2, attemptedAt: at(51), leaseUntil: at(71) })
    given(webhookDeliveries, scheduled, attempted, attemptFailed).when(attemptDelivery, late).thenEvents([second])
  })

  it('repeats one of a dead worker at once under its number', () => {
    const soon = { ...command, now: new Date(at(32)), leaseUntil: new Date(at(52)) }
    given(webhookDeliveries, scheduled, attempted).when(attemptDelivery, soon).thenNothing()
    given(webhookDeliveries, scheduled, attempted)
      .when(attemptDelivery, { ...soon, endedLeases: [attempted.data.leaseUntil] })
      .thenEvents([fact('WebhookDeliveryAttempted', { attempt: 1, attemptedAt: at(32), leaseUntil: at(52) })])
  })

  it('begins none before it is due, also with a list that is behind', () => {
    const early = { ...command, now: new Date(Date.parse(at(37)) - 1) }
    given(webhookDeliveries, scheduled, attempted, attemptFailed).when(attemptDelivery, early).thenNothing()
    const { state } = given(webhookDeliveries, scheduled, attempted, attemptFailed)
    expect(waitsUntil(state, early.now)).toEqual(new Date(at(37)))
    expect(waitsUntil(state, new Date(at(37)))).toBeNull()
  })

  it('is not made after success or after the last attempt', () => {
    for (const end of ended)
      given(webhookDeliveries, scheduled, attempted, end).when(attemptDelivery, command).thenNothing()
  })
})

describe('recording a delivery', () => {
  const record = (outcome: DeliveryOutcome, attempt = 1) => ({
    attempt,
    outcome,
    durationMs: 120,
    now: new Date(at(32)),
  })
  const delivered = record({ kind: 'delivered', statusCode: 204 })
  const failed = record({
    kind: 'failed',
    statusCode: 500,
    errorClass: 'http_status',
    nextAttemptAt: new Date(at(37)),
    endpoint,
  })

  it('delivered: once', () => {
    given(webhookDeliveries, scheduled, attempted)
      .when(recordDelivery, delivered)
      .thenEvents([fact('WebhookDelivered')])
  })

  it('failed: records when the next attempt is due, or that there is none', () => {
    given(webhookDeliveries, scheduled, attempted).when(recordDelivery, failed).thenEvents([attemptFailed])
    const last = record({ kind: 'failed', statusCode: null, errorClass: 'timeout', nextAttemptAt: null, endpoint }, 10)
    given(
      webhookDeliveries,
      scheduled,
      fact('WebhookDeliveryAttemptFailed', { attempt: 9 }),
      fact('WebhookDeliveryAttempted', { attempt: 10 }),
    )
      .when(recordDelivery, last)
      .thenEvents([fact('WebhookDeliveryFailed')])
  })

  it('failed: of a completed attempt, or of an ended or unknown delivery, changes nothing', () => {
    given(webhookDeliveries, scheduled, attempted, attemptFailed).when(recordDelivery, failed).thenNothing()
    for (const end of ended)
      given(webhookDeliveries, scheduled, attempted, end)
        .when(recordDelivery, { ...failed, attempt: 11 })
        .thenNothing()
    given(webhookDeliveries).when(recordDelivery, failed).thenNothing()
  })

  it('delivered: also late, after another process recorded the attempt or the last one of the round as failed', () => {
    const last = fact('WebhookDeliveryFailed')
    for (const before of [[attemptFailed], [attemptFailed, last]])
      given(webhookDeliveries, scheduled, attempted, ...before)
        .when(recordDelivery, delivered)
        .thenEvents([fact('WebhookDelivered')])
    given(webhookDeliveries, scheduled, attempted, fact('WebhookDelivered'))
      .when(recordDelivery, delivered)
      .thenNothing()
    given(webhookDeliveries).when(recordDelivery, delivered).thenNothing()
  })

  it('delivered: not in a later round, which a client requested', () => {
    const again = fact('WebhookRedeliveryRequested')
    given(webhookDeliveries, scheduled, attempted, fact('WebhookDeliveryFailed', { attempt: 1 }), again)
      .when(recordDelivery, delivered)
      .thenNothing()
  })
})

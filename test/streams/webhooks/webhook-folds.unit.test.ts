import { describe, expect, it } from 'vitest'
import { webhookDeliveries, type WebhookDeliveryState } from '../../../streams/webhook-delivery/aggregate.ts'
import type { WebhookDeliveryEvent } from '../../../streams/webhook-delivery/events.ts'
import type { WebhookSubscriptionEvent } from '../../../streams/webhook-subscriptions/events.ts'
import { liveSecrets, webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { at, hash, ids } from '../facts.ts'
import { deliveryFact, nextSecret, publicKey, subscriptionFact } from '../webhook-facts.ts'

function foldOf(...events: readonly WebhookSubscriptionEvent[]) {
  const state = events.reduce(webhookSubscriptions.evolve, webhookSubscriptions.initialState)
  const own = state.subscriptions.get(ids.subscription)
  if (own === undefined) throw new Error('not subscribed')
  return { state, own }
}

const subscribed = subscriptionFact('WebhookSubscribed')
const other = subscriptionFact('WebhookSubscribed', { subscriptionId: ids.claim, fingerprint: hash('e') })
const rotated = subscriptionFact('WebhookSecretRotated')

describe('a subscription', () => {
  it('has its own revision in the stream that it shares', () => {
    const { own, state } = foldOf(
      other,
      subscribed,
      subscriptionFact('WebhookSubscriptionDisabled', { subscriptionId: ids.claim }),
    )
    expect([own.revision, own.endpointRevision, state.applied]).toEqual([1, 1, 3])
    expect(state.subscriptions.get(ids.claim)).toMatchObject({
      revision: 2,
      endpointRevision: 0,
      status: 'disabled',
      updatedAt: at(20),
    })
  })

  it('has a new endpoint after a change of address and when enabled, not when disabled, renamed, rotated or warned', () => {
    const changed = (isNewEndpoint: boolean) => subscriptionFact('WebhookSubscriptionChanged', { isNewEndpoint })
    const [disabled, enabled] = [
      subscriptionFact('WebhookSubscriptionDisabled'),
      subscriptionFact('WebhookSubscriptionEnabled'),
    ]
    const endpointAfter = (...events: WebhookSubscriptionEvent[]) => foldOf(subscribed, ...events).own.endpointRevision
    expect(endpointAfter(changed(false), rotated, subscriptionFact('WebhookEndpointFailing'), disabled)).toBe(0)
    expect(endpointAfter(changed(false), changed(true))).toBe(2)
    expect(endpointAfter(disabled, enabled)).toBe(2)
  })

  it('contains reason and time while disabled, and neither after it is enabled', () => {
    const disabled = subscriptionFact('WebhookSubscriptionDisabled', { reason: 'gone' })
    expect(foldOf(subscribed).own.disabledRevision).toBeNull()
    expect(foldOf(subscribed, disabled).own).toMatchObject({
      status: 'disabled',
      disabledRevision: 1,
      disabledReason: 'gone',
      disabledAt: at(20),
    })
    const enabled = foldOf(
      subscribed,
      subscriptionFact('WebhookEndpointFailing'),
      disabled,
      subscriptionFact('WebhookSubscriptionEnabled'),
    ).own
    expect(enabled).toMatchObject({
      status: 'active',
      disabledRevision: 2,
      disabledReason: null,
      disabledAt: null,
      warned: null,
      updatedAt: at(30),
    })
  })

  it('has the same revision after a warning', () => {
    const { own } = foldOf(subscribed, subscriptionFact('WebhookEndpointFailing', { percent: 70 }))
    expect(own).toMatchObject({
      revision: 0,
      updatedAt: at(0),
      warned: { failingSince: at(32), percent: 70, nextReviewAt: at(302_432) },
    })
  })

  it('is gone after its deletion; its key is remembered', () => {
    const { state } = foldOf(
      subscribed,
      other,
      subscriptionFact('WebhookSubscriptionDeleted', { subscriptionId: ids.claim }),
    )
    expect([...state.subscriptions.keys()]).toEqual([ids.subscription])
    expect([...state.deleted]).toEqual([[ids.claim, hash('e')]])
  })
})

describe('the secrets of a subscription', () => {
  const first = { secretId: ids.subscription, publicKey }
  const second = { secretId: nextSecret, publicKey: rotated.data.publicKey }

  it('are both valid until the first has ended', () => {
    const { own } = foldOf(subscribed, rotated)
    expect(own.secrets).toEqual([
      { ...second, validUntil: null },
      { ...first, validUntil: at(86_440) },
    ])
    expect(liveSecrets(own, new Date(at(86_439))).map(({ secretId }) => secretId)).toEqual([
      nextSecret,
      ids.subscription,
    ])
    expect(liveSecrets(own, new Date(at(86_440))).map(({ secretId }) => secretId)).toEqual([nextSecret])
    expect(own).toMatchObject({ revision: 1, updatedAt: at(40) })
  })

  it('are forgotten after their end, but the results of their keys are not', () => {
    const again = { secretId: ids.claim, publicKey: null, previousValidUntil: at(50), rotatedAt: at(50), request: null }
    const { own } = foldOf(subscribed, rotated, subscriptionFact('WebhookSecretRotated', again))
    expect(own.secrets).toEqual([
      { secretId: ids.claim, publicKey: null, validUntil: null },
      { ...first, validUntil: at(86_440) },
    ])
    expect([...own.keyedRotations]).toEqual([[hash('c'), { fingerprint: hash('f'), secretId: nextSecret }]])
  })
})

function deliveryOf(...events: readonly WebhookDeliveryEvent[]): WebhookDeliveryState {
  return events.reduce(webhookDeliveries.evolve, webhookDeliveries.initialState)
}

describe('a delivery', () => {
  const begun = [deliveryFact('WebhookDeliveryScheduled'), deliveryFact('WebhookDeliveryAttempted')]
  const failed = deliveryFact('WebhookDeliveryAttemptFailed')
  const attempt = { attempt: 1, at: at(31), statusCode: 500, durationMs: 120, errorClass: 'http_status' }

  it('contains the start of its finished attempts, and the time of the next one', () => {
    expect(deliveryOf(...begun)).toMatchObject({ status: 'pending', attempts: [], nextAttemptAt: at(31) })
    expect(deliveryOf(...begun, failed)).toMatchObject({
      status: 'pending',
      attempts: [attempt],
      finishedAttempts: 1,
      nextAttemptAt: at(37),
      openLeaseUntil: null,
    })
    expect(deliveryOf(...begun, deliveryFact('WebhookDelivered'))).toMatchObject({
      status: 'delivered',
      attempts: [{ ...attempt, statusCode: 204, errorClass: null }],
      nextAttemptAt: null,
    })
  })

  it('is pending in a new round after a repeat request; numbering continues', () => {
    const again = deliveryFact('WebhookRedeliveryRequested')
    for (const end of [
      deliveryFact('WebhookDeliveryFailed'),
      deliveryFact('WebhookDelivered', { attempt: 10 }),
      deliveryFact('WebhookDeliveryCancelled'),
    ]) {
      const { finishedAttempts, ...state } = {
        finishedAttempts: 0,
        ...deliveryOf(...begun, deliveryFact('WebhookDeliveryAttemptFailed', { attempt: 9 }), end, again),
      }
      expect(state).toMatchObject({ status: 'pending', roundFrom: finishedAttempts, nextAttemptAt: at(60) })
      expect(finishedAttempts).toBeGreaterThanOrEqual(9)
    }
  })

  it('contains the endpoint of the last request, and the endpoint of this round', () => {
    const [asked, again] = [
      deliveryFact('WebhookRedeliveryUnneeded', { endpointRevision: 4 }),
      deliveryFact('WebhookRedeliveryRequested', { endpointRevision: 2 }),
    ]
    expect(deliveryOf(...begun)).toMatchObject({ roundOf: null, askedOf: null, keysOfRound: 0 })
    expect(deliveryOf(...begun, asked)).toMatchObject({ roundOf: null, askedOf: 4, keysOfRound: 1 })
    expect(deliveryOf(...begun, asked, deliveryFact('WebhookDelivered'), again)).toMatchObject({
      roundOf: 2,
      askedOf: 2,
      keysOfRound: 0,
    })
  })

  it('cancelled during an attempt keeps its lease, and is delivered if the receiver accepted it', () => {
    const cancelled = deliveryFact('WebhookDeliveryCancelled')
    expect(deliveryOf(...begun, cancelled)).toMatchObject({
      status: 'cancelled',
      openLeaseUntil: at(51),
      nextAttemptAt: null,
    })
    expect(deliveryOf(...begun, cancelled, deliveryFact('WebhookDelivered'))).toMatchObject({
      status: 'delivered',
      openLeaseUntil: null,
    })
  })

  it('accepted late shows the attempt that the receiver accepted, and goes on with the numbers and the open attempt', () => {
    const second = deliveryFact('WebhookDeliveryAttempted', { attempt: 2, attemptedAt: at(60), leaseUntil: at(80) })
    const failedAgain = deliveryFact('WebhookDeliveryAttemptFailed', { attempt: 2 })
    const third = deliveryFact('WebhookDeliveryAttempted', { attempt: 3, attemptedAt: at(90), leaseUntil: at(110) })
    const late = deliveryFact('WebhookDelivered')
    expect(deliveryOf(...begun, failed, second, failedAgain, third, late)).toMatchObject({
      status: 'delivered',
      attempts: [
        { ...attempt, statusCode: 204, errorClass: null },
        { ...attempt, attempt: 2, at: at(60) },
      ],
      finishedAttempts: 2,
      openLeaseUntil: at(110),
      nextAttemptAt: null,
    })
  })

  it('keeps every key and every recovery that requested it again, with or without a new round', () => {
    const requests = Array.from({ length: 22 }, (_, number) => ({
      key: String(number).padStart(64, '0'),
      fingerprint: hash('f'),
    }))
    const rounds = requests.flatMap((request) => [
      deliveryFact('WebhookDelivered'),
      deliveryFact('WebhookRedeliveryRequested', { request }),
    ])
    const unneeded = deliveryFact('WebhookRedeliveryUnneeded', { recoveryId: ids.claim })
    const state = deliveryOf(...begun, ...rounds, unneeded)
    if (state.status === 'absent') return expect.unreachable('nothing was scheduled')
    expect([...state.redeliveries]).toEqual([...requests, { key: hash('c') }].map(({ key }) => [key, hash('f')]))
    expect([...state.recoveries]).toEqual([[ids.claim, true]])
    expect(state).toMatchObject({ status: 'pending', nextAttemptAt: at(60) })
  })
})

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
  it('has a revision of its own in the stream that it shares', () => {
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

  it('is another endpoint after another address and when enabled, not when disabled, described anew, rotated or warned', () => {
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

  it('says why and since when it is disabled, and when enabled nothing of it is left', () => {
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

  it('a warning changes no revision', () => {
    const { own } = foldOf(subscribed, subscriptionFact('WebhookEndpointFailing', { percent: 70 }))
    expect(own).toMatchObject({
      revision: 0,
      updatedAt: at(0),
      warned: { failingSince: at(32), percent: 70, nextReviewAt: at(302_432) },
    })
  })

  it('that is deleted is gone; its key is remembered', () => {
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

  it('are both alive until the first has ended', () => {
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

  it('are forgotten once ended, but not what their keys came to', () => {
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

  it('tells its finished attempts from when they began, and when the next one is due', () => {
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

  it('asked for again is pending in a new round, under numbers that go on', () => {
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

  it('says for which endpoint it was last asked for, and for which this round was', () => {
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

  it('cancelled amid an attempt keeps its lease, and is delivered when the receiver had taken it', () => {
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

  it('keeps every key, and every recovery, that asked for it again, whether a round began or not', () => {
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

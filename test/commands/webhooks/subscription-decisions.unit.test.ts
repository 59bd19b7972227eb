import { describe, expect, it } from 'vitest'
import { changeSubscription, type ChangeSubscription } from '../../../commands/webhooks/change-subscription.ts'
import { deleteSubscription } from '../../../commands/webhooks/change-subscription.ts'
import { rotateSecret, type RotateSecret } from '../../../commands/webhooks/rotate-secret.ts'
import { subscribeWebhook } from '../../../commands/webhooks/subscribe-webhook.ts'
import type { WebhookSubscriptionEvent } from '../../../streams/webhook-subscriptions/events.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import { nextSecret, subscriptionFact as fact } from '../../streams/webhook-facts.ts'
import { given as givenFold } from '../../support/given-decider.ts'

const given = (...events: readonly WebhookSubscriptionEvent[]) => givenFold(webhookSubscriptions, ...events)
const numbered = (number: number) => `00000000-0000-4000-8000-0000000007${String(number).padStart(2, '0')}`

const subscribed = fact('WebhookSubscribed', { fingerprint: hash('f') })
const other = fact('WebhookSubscribed', { subscriptionId: ids.claim, url: 'https://receiver.example/other' })
const disabled = fact('WebhookSubscriptionDisabled')
const deleted = fact('WebhookSubscriptionDeleted')

describe('subscribing again', () => {
  const { createdAt: _, ...data } = subscribed.data
  const command = { ...data, now: new Date(at(0)) }

  it('with the key of a deleted subscription is refused', () => {
    given(subscribed, deleted).when(subscribeWebhook, command).thenRefused('subscription-deleted')
    given(other, fact('WebhookSubscriptionDeleted', { subscriptionId: ids.claim }))
      .when(subscribeWebhook, command)
      .thenEvents([subscribed])
  })

  it('counts existing subscriptions, not deleted ones', () => {
    const others = Array.from({ length: 20 }, (_each, number) =>
      fact('WebhookSubscribed', { subscriptionId: numbered(number), url: `https://receiver.example/${number}` }),
    )
    given(...others)
      .when(subscribeWebhook, command)
      .thenRefused('subscription-limit')
    given(...others, fact('WebhookSubscriptionDeleted', { subscriptionId: numbered(7) }))
      .when(subscribeWebhook, command)
      .thenEvents([subscribed])
  })

  it('at the former address of a deleted or moved subscription is not a duplicate', () => {
    const again = { ...command, subscriptionId: ids.event, secretId: ids.event }
    const made = fact('WebhookSubscribed', { subscriptionId: ids.event, secretId: ids.event, fingerprint: hash('f') })
    given(subscribed, deleted).when(subscribeWebhook, again).thenEvents([made])
    given(subscribed, fact('WebhookSubscriptionChanged')).when(subscribeWebhook, again).thenEvents([made])
  })

  it('accepts one scheme, or both in any order', () => {
    const alone = fact('WebhookSubscribed', { fingerprint: hash('f'), signatureSchemes: ['v1'], publicKey: null })
    given()
      .when(subscribeWebhook, { ...command, signatureSchemes: ['v1'], publicKey: null })
      .thenEvents([alone])
    given()
      .when(subscribeWebhook, { ...command, signatureSchemes: ['v1a', 'v1'] })
      .thenEvents([subscribed])
  })
})

describe('changing a subscription', () => {
  const nothing = {
    url: undefined,
    eventTypes: undefined,
    description: undefined,
    payloadMode: undefined,
    status: undefined,
    admitted: undefined,
  }
  const change = (changes: Partial<ChangeSubscription>): ChangeSubscription => ({
    subscriptionId: ids.subscription,
    ...nothing,
    now: new Date(at(10)),
    ...changes,
  })
  const said = { url: subscribed.data.url, isNewEndpoint: false }

  it('records all members after the change, and another address as a new endpoint', () => {
    given(subscribed)
      .when(changeSubscription, change({ url: 'https://receiver.example/moved' }))
      .thenEvents([fact('WebhookSubscriptionChanged')])
    given(subscribed)
      .when(changeSubscription, change({ payloadMode: 'thin' }))
      .thenEvents([fact('WebhookSubscriptionChanged', { ...said, payloadMode: 'thin' })])
    given(subscribed)
      .when(changeSubscription, change({ description: null }))
      .thenEvents([fact('WebhookSubscriptionChanged', { ...said, description: null })])
  })

  it('sorts its event types, without repeats', () => {
    const changed = fact('WebhookSubscriptionChanged', { ...said, eventTypes: ['assessment.failed'] })
    given(subscribed)
      .when(changeSubscription, change({ eventTypes: ['assessment.failed', 'assessment.failed'] }))
      .thenEvents([changed])
    given(subscribed)
      .when(changeSubscription, change({ eventTypes: ['assessment.failed', 'assessment.completed'] }))
      .thenNothing()
  })

  it('to equal values does nothing, with any If-Match', () => {
    const { url, eventTypes, description, payloadMode } = subscribed.data
    const same = change({ url, eventTypes, description, payloadMode, status: 'active', admitted: [7n] })
    given(subscribed).when(changeSubscription, same).thenNothing()
    given(subscribed, fact('WebhookSubscriptionDisabled', { reason: 'gone' }))
      .when(changeSubscription, change({ status: 'disabled' }))
      .thenNothing()
  })

  it('switches it off and on, also together with another change', () => {
    const off = fact('WebhookSubscriptionDisabled', { disabledAt: at(10) })
    const on = fact('WebhookSubscriptionEnabled', { enabledAt: at(10) })
    given(subscribed)
      .when(changeSubscription, change({ status: 'disabled' }))
      .thenEvents([off])
    given(subscribed, disabled)
      .when(changeSubscription, change({ status: 'active' }))
      .thenEvents([on])
    const moved = change({ url: 'https://receiver.example/moved', status: 'active' })
    given(subscribed, disabled)
      .when(changeSubscription, moved)
      .thenEvents([fact('WebhookSubscriptionChanged'), on])
  })

  it('that is switched off does not switch it on', () => {
    const state = given(subscribed, disabled)
      .when(changeSubscription, change({ url: 'https://receiver.example/moved' }))
      .thenEvents([fact('WebhookSubscriptionChanged')])
    expect(state.subscriptions.get(ids.subscription)).toMatchObject({ status: 'disabled', disabledReason: 'requested' })
  })

  it('needs the revision of its own last change, not that of the stream', () => {
    const thin = fact('WebhookSubscriptionChanged', { ...said, payloadMode: 'thin' })
    const elsewhere = fact('WebhookSubscriptionDisabled', { subscriptionId: ids.claim })
    const when = (...admitted: bigint[]) =>
      given(other, subscribed, elsewhere).when(changeSubscription, change({ payloadMode: 'thin', admitted }))
    when(1n).thenEvents([thin])
    when(0n, 1n).thenEvents([thin])
    for (const stale of [[0n], [2n], []]) when(...stale).thenRefused('precondition-failed')
  })

  it('needs no newer revision after a warning', () => {
    const off = fact('WebhookSubscriptionDisabled', { disabledAt: at(10) })
    given(subscribed, fact('WebhookEndpointFailing'))
      .when(changeSubscription, change({ status: 'disabled', admitted: [0n] }))
      .thenEvents([off])
  })

  it('to the address and events of another one of the organisation is refused', () => {
    const { url, eventTypes } = other.data
    given(subscribed, other).when(changeSubscription, change({ url })).thenRefused('webhook-subscription-duplicate')
    const apart = change({ url, eventTypes: ['assessment.failed'] })
    given(subscribed, other)
      .when(changeSubscription, apart)
      .thenEvents([fact('WebhookSubscriptionChanged', { url, eventTypes: ['assessment.failed'], isNewEndpoint: true })])
    given(subscribed, other)
      .when(changeSubscription, { ...apart, eventTypes })
      .thenRefused('webhook-subscription-duplicate')
  })

  it('that does not exist, or was deleted, is not found', () => {
    given(other)
      .when(changeSubscription, change({ status: 'disabled' }))
      .thenRefused('not-found')
    given(subscribed, deleted)
      .when(changeSubscription, change({ status: 'active' }))
      .thenRefused('not-found')
  })
})

describe('deleting a subscription', () => {
  const command = { subscriptionId: ids.subscription, admitted: undefined, now: new Date(at(50)) }

  it('happens once', () => {
    given(subscribed, disabled).when(deleteSubscription, command).thenEvents([deleted], 'not-found')
    given(other).when(deleteSubscription, command).thenRefused('not-found')
  })

  it('needs the revision in If-Match', () => {
    given(subscribed, other)
      .when(deleteSubscription, { ...command, admitted: [0n] })
      .thenEvents([deleted], 'not-found')
    given(subscribed, disabled)
      .when(deleteSubscription, { ...command, admitted: [0n] })
      .thenRefused('precondition-failed')
  })
})

describe('rotating a secret', () => {
  const rotated = fact('WebhookSecretRotated')
  const { subscriptionId, secretId, publicKey, request } = rotated.data
  const command: RotateSecret = {
    subscriptionId,
    secretId,
    publicKey,
    request,
    graceSeconds: 86_400,
    now: new Date(at(40)),
  }
  /** One rotation per second. Each keeps the previous secret valid for a day. */
  const rotations = (count: number) =>
    Array.from({ length: count }, (_each, number) =>
      fact('WebhookSecretRotated', {
        secretId: numbered(number),
        request: null,
        rotatedAt: at(number),
        previousValidUntil: at(number + 86_400),
      }),
    )

  it('happens once for a key, also after its secret has ended', () => {
    given(subscribed).when(rotateSecret, command).thenEvents([rotated])
    const since = fact('WebhookSecretRotated', {
      secretId: ids.event,
      request: null,
      rotatedAt: at(50),
      previousValidUntil: at(50),
    })
    given(subscribed, rotated, since)
      .when(rotateSecret, { ...command, secretId: ids.claim, now: new Date(at(60)) })
      .thenNothing()
    given(subscribed, rotated)
      .when(rotateSecret, { ...command, request: { key: hash('c'), fingerprint: hash('e') } })
      .thenRefused('idempotency-key-reused')
  })

  it('without a key happens each time', () => {
    const keyless = fact('WebhookSecretRotated', { request: null })
    given(subscribed)
      .when(rotateSecret, { ...command, request: null })
      .thenEvents([keyless], [keyless])
  })

  it('with a grace of zero ends the previous one at once', () => {
    const ending = fact('WebhookSecretRotated', { previousValidUntil: at(40) })
    const state = given(subscribed)
      .when(rotateSecret, { ...command, graceSeconds: 0 })
      .thenEvents([ending])
    expect(state.subscriptions.get(subscriptionId)?.secrets.map((secret) => secret.secretId)).toEqual([nextSecret])
  })

  it('keeps at most four earlier ones valid, without counting ended ones', () => {
    given(subscribed, ...rotations(3))
      .when(rotateSecret, command)
      .thenEvents([rotated])
    given(subscribed, ...rotations(4))
      .when(rotateSecret, command)
      .thenRefused('too-many-secrets')
    const ending = fact('WebhookSecretRotated', { previousValidUntil: at(40) })
    given(subscribed, ...rotations(4))
      .when(rotateSecret, { ...command, graceSeconds: 0 })
      .thenEvents([ending])
    const later = fact('WebhookSecretRotated', { rotatedAt: at(86_400), previousValidUntil: at(172_800) })
    given(subscribed, ...rotations(4))
      .when(rotateSecret, { ...command, now: new Date(at(86_400)) })
      .thenEvents([later])
  })

  it('is not found for an unknown subscription, and allowed for one that is switched off', () => {
    given(other).when(rotateSecret, command).thenRefused('not-found')
    given(subscribed, disabled).when(rotateSecret, command).thenEvents([rotated])
  })
})

import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import type { WebhookRecoveryEvent } from '../../streams/webhook-recovery/events.ts'
import type { WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import { at, factsOf, hash, ids } from './facts.ts'

/** A second secret of the subscription. The first has the subscription's own id. */
export const nextSecret = '00000000-0000-4000-8000-000000000034'
export const recovery = '00000000-0000-4000-8000-000000000035'
/** Public half of the key pair of RFC 8032, 7.1, test 1. */
export const publicKey = {
  kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
}

const subscribed = {
  subscriptionId: ids.subscription,
  url: 'https://receiver.example/hooks',
  eventTypes: ['assessment.completed' as const, 'assessment.failed' as const],
  description: 'All results',
  payloadMode: 'full' as const,
}

export const subscriptionFact = factsOf<WebhookSubscriptionEvent>({
  WebhookSubscribed: {
    ...subscribed,
    organisationId: ids.org,
    signatureSchemes: ['v1', 'v1a'],
    secretId: ids.subscription,
    publicKey,
    createdAt: at(0),
    fingerprint: null,
  },
  WebhookSubscriptionChanged: {
    ...subscribed,
    url: 'https://receiver.example/moved',
    isNewEndpoint: true,
    changedAt: at(10),
  },
  WebhookSubscriptionDisabled: { subscriptionId: ids.subscription, reason: 'requested', disabledAt: at(20) },
  WebhookSubscriptionEnabled: { subscriptionId: ids.subscription, enabledAt: at(30) },
  WebhookSecretRotated: {
    subscriptionId: ids.subscription,
    secretId: nextSecret,
    publicKey: { ...publicKey, kid: 'second-key' },
    previousValidUntil: at(86_440),
    rotatedAt: at(40),
    request: { key: hash('c'), fingerprint: hash('f') },
  },
  WebhookEndpointFailing: {
    subscriptionId: ids.subscription,
    percent: 50,
    failingSince: at(32),
    disableAt: at(432_032),
    nextReviewAt: at(302_432),
    warnedAt: at(216_032),
  },
  WebhookSubscriptionDeleted: { subscriptionId: ids.subscription, deletedAt: at(50) },
  WebhookSecretsDestroyed: { subscriptionId: ids.subscription, destroyedAt: at(3_650) },
})

const named = { deliveryId: ids.delivery, subscriptionId: ids.subscription, eventId: ids.event }
const attempted = { ...named, attempt: 1, durationMs: 120 }
const endpoint = { revision: 0, reviewAt: at(216_032) }

export const deliveryFact = factsOf<WebhookDeliveryEvent>({
  WebhookDeliveryScheduled: {
    ...named,
    organisationId: ids.org,
    origin: 'event',
    eventType: 'assessment.completed',
    assessmentId: ids.assessment,
    occurredAt: at(30),
    scheduledAt: at(31),
    request: null,
  },
  WebhookDeliveryAttempted: {
    deliveryId: ids.delivery,
    attempt: 1,
    attemptedAt: at(31),
    leaseUntil: at(51),
    shown: null,
  },
  WebhookDelivered: { ...attempted, statusCode: 204, deliveredAt: at(32) },
  WebhookDeliveryAttemptFailed: {
    ...attempted,
    statusCode: 500,
    errorClass: 'http_status',
    endpoint,
    failedAt: at(32),
    nextAttemptAt: at(37),
  },
  WebhookDeliveryBroughtForward: { ...named, nextAttemptAt: at(33) },
  WebhookDeliveryFailed: {
    ...attempted,
    attempt: 10,
    statusCode: null,
    errorClass: 'timeout',
    endpoint,
    failedAt: at(32),
  },
  WebhookDeliveryCancelled: { ...named, reason: 'subscription_disabled', cancelledAt: at(33) },
  WebhookRedeliveryRequested: {
    ...named,
    eventType: 'assessment.completed',
    assessmentId: ids.assessment,
    endpointRevision: 0,
    recoveryId: null,
    request: { key: hash('c'), fingerprint: hash('f') },
    requestedAt: at(60),
  },
  WebhookRedeliveryUnneeded: {
    ...named,
    endpointRevision: 0,
    recoveryId: null,
    request: { key: hash('c'), fingerprint: hash('f') },
    decidedAt: at(60),
  },
})

export const recoveryFact = factsOf<WebhookRecoveryEvent>({
  WebhookRecoveryRequested: {
    recoveryId: recovery,
    subscriptionId: ids.subscription,
    organisationId: ids.org,
    since: at(0),
    until: at(60),
    deliveries: [{ deliveryId: ids.delivery, eventId: ids.event }],
    hasMore: false,
    requestedAt: at(61),
    fingerprint: null,
  },
})

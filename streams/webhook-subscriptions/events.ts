import { Type, type Static } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { CausingRequest, Fingerprint, Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'

export const WebhookEventType = Type.Enum(['assessment.completed', 'assessment.failed', 'assessment.reviewed'])
export type WebhookEventType = Static<typeof WebhookEventType>

export const SubscriptionStatus = Type.Enum(['active', 'disabled'])
export type SubscriptionStatus = Static<typeof SubscriptionStatus>

export const PayloadMode = Type.Enum(['full', 'thin'])
export type PayloadMode = Static<typeof PayloadMode>

/** Of Standard Webhooks: HMAC-SHA-256 with the secret, and Ed25519 with the key pair. */
export const SignatureScheme = Type.Enum(['v1', 'v1a'])
export type SignatureScheme = Static<typeof SignatureScheme>

/** Public half of an Ed25519 pair: its RFC 7638 thumbprint, and the key as the member `x` of a JWK. */
export const PublicKey = Type.Object({ kid: Type.String(), x: Type.String() })
export type PublicKey = Static<typeof PublicKey>

export const DisabledReason = Type.Enum(['requested', 'gone', 'no_success'])
export type DisabledReason = Static<typeof DisabledReason>

/** Elapsed share of the time that an endpoint may fail without a success. */
export const FailingPercent = Type.Union([Type.Literal(50), Type.Literal(70), Type.Literal(90)])
export type FailingPercent = Static<typeof FailingPercent>

const described = {
  url: Type.String(),
  /** Sorted, without duplicates. */
  eventTypes: Type.Array(WebhookEventType),
  description: Nullable(Type.String()),
  payloadMode: PayloadMode,
}

/**
 * Version 1 of `WebhookSubscribed` had HMAC signatures only. Its secret is in the vault under the subscription's own
 * id. The first secret of a subscription still has that id.
 */
const subscribedUpcasters = {
  1: (data: unknown) => {
    const subscribed: { subscriptionId?: unknown } = Object(data)
    return { ...subscribed, signatureSchemes: ['v1'], secretId: subscribed.subscriptionId, publicKey: null }
  },
}

export const webhookSubscriptionEvents = {
  WebhookSubscribed: defineEvent(
    'WebhookSubscribed',
    Type.Object({
      subscriptionId: Id,
      /** The vault keeps the secret and, with `v1a`, the key pair under this id. No event contains either. */
      secretId: Id,
      organisationId: OrgId,
      ...described,
      signatureSchemes: Type.Array(SignatureScheme),
      fingerprint: Fingerprint,
      publicKey: Nullable(PublicKey),
      createdAt: Instant,
    }),
    { version: 2, upcasters: subscribedUpcasters },
  ),
  /** Contains every member after the change. Failures at another address no longer count. */
  WebhookSubscriptionChanged: defineEvent(
    'WebhookSubscriptionChanged',
    Type.Object({ subscriptionId: Id, ...described, isNewEndpoint: Type.Boolean(), changedAt: Instant }),
  ),
  WebhookSubscriptionDisabled: defineEvent(
    'WebhookSubscriptionDisabled',
    Type.Object({ subscriptionId: Id, reason: DisabledReason, disabledAt: Instant }),
  ),
  WebhookSubscriptionEnabled: defineEvent(
    'WebhookSubscriptionEnabled',
    Type.Object({ subscriptionId: Id, enabledAt: Instant }),
  ),
  /** The previous secret signs too until `previousValidUntil`. */
  WebhookSecretRotated: defineEvent(
    'WebhookSecretRotated',
    Type.Object({
      subscriptionId: Id,
      secretId: Id,
      publicKey: Nullable(PublicKey),
      previousValidUntil: Instant,
      rotatedAt: Instant,
      request: CausingRequest,
    }),
  ),
  /** A warning: nothing was delivered since `failingSince`. The subscription will be disabled at `disableAt`. */
  WebhookEndpointFailing: defineEvent(
    'WebhookEndpointFailing',
    Type.Object({
      subscriptionId: Id,
      percent: FailingPercent,
      failingSince: Instant,
      warnedAt: Instant,
      disableAt: Instant,
      nextReviewAt: Instant,
    }),
  ),
  WebhookSubscriptionDeleted: defineEvent(
    'WebhookSubscriptionDeleted',
    Type.Object({ subscriptionId: Id, deletedAt: Instant }),
  ),
  /** The vault no longer holds any secret of a deleted subscription. */
  WebhookSecretsDestroyed: defineEvent(
    'WebhookSecretsDestroyed',
    Type.Object({ subscriptionId: Id, destroyedAt: Instant }),
  ),
} as const

export type WebhookSubscriptionEvent = EventOf<typeof webhookSubscriptionEvents>

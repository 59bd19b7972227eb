import { Type, type Static } from 'typebox'
import { defineEvent, Internal, KeyOwner, Phi, type EventOf } from '../../engine/store/schema.ts'
import {
  CausingRequest,
  Count,
  Fingerprint,
  Id,
  Instant,
  Nullable,
  OrgId,
  Sha256,
} from '../../engine/aggregates/types.ts'
import { NotificationCategory, NotificationChannel } from '../types.ts'

export const RecipientType = Type.Enum(['user', 'slackChannel', 'email'])
export type RecipientType = Static<typeof RecipientType>

export const NotificationStatus = Type.Enum(['pending', 'queued', 'sending', 'sent', 'failed', 'suppressed'])
export type NotificationStatus = Static<typeof NotificationStatus>

/** Why an event made no notification: it was too old, or notifications caused it. */
export const DiscardReason = Type.Enum(['event_too_old', 'hop'])
export type DiscardReason = Static<typeof DiscardReason>

export const SuppressionReason = Type.Enum(['preference_opt_out', 'suppression_list'])
export type SuppressionReason = Static<typeof SuppressionReason>

/** Why an attempt or a notification failed (specification 7.4). */
export const NotificationErrorCode = Type.Enum([
  'phi_policy_violation',
  'invalid_recipient',
  'provider_5xx',
  'provider_4xx',
  'provider_429',
  'provider_timeout',
  'provider_auth_failed',
  'recipient_not_found',
  'recipient_unresolvable',
  'user_lookup_unavailable',
  'template_not_found',
  'template_render_failed',
  'delivery_unknown',
])
export type NotificationErrorCode = Static<typeof NotificationErrorCode>

/** The event that a rule turned into the notification. */
export const Trigger = Type.Object({
  eventId: Id,
  eventType: Type.String(),
  subscriptionId: Id,
  /** When the event was recorded on its channel. */
  receivedAt: Instant,
})
export type Trigger = Static<typeof Trigger>

/** What a provider was asked, or what it answered: names and numbers, no address and no text of the message. */
export const CallMetadata = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
)
export type CallMetadata = Static<typeof CallMetadata>

/** How an attempt ended: the provider's answer, null without one, and the duration of the call. */
export const EndedAttempt = Type.Object({
  attemptId: Id,
  attempt: Type.Integer({ minimum: 1 }),
  response: Nullable(CallMetadata),
  latencyMs: Count,
})
export type EndedAttempt = Static<typeof EndedAttempt>

const notificationId = { notificationId: Id }
/** For the public channel, which contains no PHI. */
const published = {
  ...notificationId,
  templateCode: Type.String(),
  channel: NotificationChannel,
  correlationId: Nullable(Type.String()),
  hop: Count,
}
/** `errorDetail` is a fixed text with names of variables or members, never their values. */
const failure = { errorCode: NotificationErrorCode, errorDetail: Nullable(Type.String({ maxLength: 1000 })) }
/** The person whose key encrypts the PHI. Keys of users belong to the platform. */
const subject = { phiSubject: Id, phiKeyOwner: KeyOwner }
const personal = { subject: 'phiSubject', keyOwner: { member: 'phiKeyOwner' } } as const

export const notificationEvents = {
  /** Template version and category are null if no template was found. */
  NotificationCreated: defineEvent(
    'NotificationCreated',
    Type.Object({
      ...published,
      organisationId: OrgId,
      templateVersion: Nullable(Type.Integer({ minimum: 1 })),
      /** BCP 47. The template is looked up in this locale, then in en-GB. */
      locale: Type.String(),
      category: Nullable(NotificationCategory),
      /** Of the template, or because of the patient whom the variables concern. */
      phi: Type.Boolean(),
      recipientType: RecipientType,
      /** A user id, a chat channel id, or an e-mail address. Null if no recipient was found. */
      recipientRef: Phi(Nullable(Type.String())),
      /** HMAC of the reference, by which lists find it. */
      recipientKey: Internal(Nullable(Sha256)),
      /** The JSON text of an object. */
      variables: Phi(Type.String()),
      ...subject,
      /** `event:<event id>` or `api:<client id>`. */
      triggerSource: Type.String(),
      /** Null for a request of a client. */
      trigger: Nullable(Trigger),
      createdAt: Instant,
      fingerprint: Fingerprint,
    }),
    personal,
  ),
  /** The only event of its stream: a rule matched an event that is too old, or that notifications caused themselves. */
  NotificationDiscarded: defineEvent(
    'NotificationDiscarded',
    Type.Object({
      ...notificationId,
      organisationId: OrgId,
      trigger: Trigger,
      reason: DiscardReason,
      discardedAt: Instant,
    }),
  ),
  /** `retry_requested` begins a new round of tries for a failed notification. */
  NotificationQueued: defineEvent(
    'NotificationQueued',
    Type.Object({
      ...notificationId,
      channel: NotificationChannel,
      reason: Type.Enum(['enqueued', 're_enqueued', 'retry_requested']),
      nextAttemptAt: Instant,
      request: CausingRequest,
      queuedAt: Instant,
    }),
  ),
  /**
   * Appended immediately before the call of the provider: an attempt without an outcome may have sent the message. An
   * attempt that ends without such a call is one append with its outcome.
   */
  NotificationAttemptStarted: defineEvent(
    'NotificationAttemptStarted',
    Type.Object({
      ...notificationId,
      attemptId: Id,
      /** Counts all attempts of the notification, over all rounds. */
      attempt: Type.Integer({ minimum: 1 }),
      /** Of the rendered template; null before one was found. */
      templateVersion: Nullable(Type.Integer({ minimum: 1 })),
      /** Stricter of creation and rendering, as are all categories of both. */
      phi: Type.Boolean(),
      category: Nullable(NotificationCategory),
      categories: Type.Array(NotificationCategory),
      /** Null if the attempt ends before there is an address. */
      resolvedAddress: Phi(Nullable(Type.String())),
      ...subject,
      /** The provider, or the part that ended the attempt: `ses`, `slack`, `user-management`, `preferences`. */
      providerName: Type.String(),
      request: CallMetadata,
      startedAt: Instant,
      leaseUntil: Instant,
    }),
    personal,
  ),
  /** The attempt failed for now. The notification is queued again. */
  NotificationRetryScheduled: defineEvent(
    'NotificationRetryScheduled',
    Type.Object({
      ...notificationId,
      ended: EndedAttempt,
      ...failure,
      nextAttemptAt: Instant,
      failedAt: Instant,
    }),
  ),
  /** The provider was not called, because its circuit is open. The attempt does not count. */
  NotificationAttemptWithdrawn: defineEvent(
    'NotificationAttemptWithdrawn',
    Type.Object({
      ...notificationId,
      attemptId: Id,
      /** Attempts that count. */
      attempts: Count,
      nextAttemptAt: Instant,
      withdrawnAt: Instant,
    }),
  ),
  NotificationSent: defineEvent(
    'NotificationSent',
    Type.Object({ ...published, ended: EndedAttempt, providerMessageId: Nullable(Type.String()), sentAt: Instant }),
  ),
  NotificationSuppressed: defineEvent(
    'NotificationSuppressed',
    Type.Object({ ...published, ended: EndedAttempt, reason: SuppressionReason, suppressedAt: Instant }),
  ),
  NotificationFailed: defineEvent(
    'NotificationFailed',
    Type.Object({
      ...published,
      /** Null if there was no attempt, because a recipient or a template was not found at the event. */
      ended: Nullable(EndedAttempt),
      ...failure,
      /** True if the attempts are exhausted, false for a permanent failure. */
      finalAttempt: Type.Boolean(),
      failedAt: Instant,
    }),
  ),
} as const

export type NotificationEvent = EventOf<typeof notificationEvents>

import { Type, type Static } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { CausingRequest, Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'
import { PersonalCategory } from '../types.ts'
import { WebhookEventType } from '../webhook-subscriptions/events.ts'

export const DeliveryStatus = Type.Enum(['pending', 'delivered', 'failed', 'cancelled'])
export type DeliveryStatus = Static<typeof DeliveryStatus>

export const DeliveryOrigin = Type.Enum(['event', 'test'])

export const CancelReason = Type.Enum(['subscription_disabled', 'subscription_deleted'])
export type CancelReason = Static<typeof CancelReason>

/** Type of the delivered message: an event of the subscription, or a test. */
export const DeliveredEventType = Type.Enum([...WebhookEventType.enum, 'webhook.test'])
export type DeliveredEventType = Static<typeof DeliveredEventType>

/** Why an attempt failed: the class of the outside error, never text from the receiver. */
export const DeliveryErrorClass = Type.Enum([
  'http_status',
  'redirect',
  'timeout',
  'connect',
  'dns',
  'tls',
  'address_forbidden',
  'connection_failed',
  'body_too_large',
  'aborted',
])
export type DeliveryErrorClass = Static<typeof DeliveryErrorClass>

/**
 * The endpoint that a failure counts against. `revision` is the subscription's `endpointRevision` of the call.
 * `reviewAt` is the instant to check the endpoint if nothing is delivered before. Null for a test: its failures do not
 * count.
 */
export const FailedEndpoint = Nullable(Type.Object({ revision: Type.Integer({ minimum: 0 }), reviewAt: Instant }))
export type FailedEndpoint = Static<typeof FailedEndpoint>

const named = { deliveryId: Id, subscriptionId: Id, eventId: Id }
const failure = {
  ...named,
  /** Numbering continues over redeliveries. */
  attempt: Type.Integer({ minimum: 1 }),
  durationMs: Type.Integer({ minimum: 0 }),
  statusCode: Nullable(Type.Integer()),
  errorClass: DeliveryErrorClass,
  endpoint: FailedEndpoint,
  failedAt: Instant,
}

const asked = {
  ...named,
  /**
   * The subscription's `endpointRevision` at the request. It shows which requests came after the last disabling. Null
   * before this was recorded.
   */
  endpointRevision: Nullable(Type.Integer({ minimum: 0 })),
  /** The recovery that requested the delivery; null for a single request. */
  recoveryId: Nullable(Id),
  request: CausingRequest,
}

/** The personal content of the message. Null for a message without any, and before this was recorded. */
export const ShownContent = Nullable(Type.Object({ patientId: Id, categories: Type.Array(PersonalCategory) }))
export type ShownContent = Static<typeof ShownContent>

/** Attempts of version 1 did not contain what they showed. */
const attemptedUpcasters = { 1: (data: unknown) => ({ ...Object(data), shown: null }) }

/** Version 1 of `WebhookDeliveryScheduled` covered events only, no tests. */
const scheduledUpcasters = {
  1: (data: unknown) => {
    const scheduled: { scheduledAt?: unknown } = Object(data)
    return { ...scheduled, origin: 'event', occurredAt: scheduled.scheduledAt, request: null }
  },
}

/** Failures of version 1 did not count against an endpoint. */
const failedUpcasters = { 1: (data: unknown) => ({ ...Object(data), endpoint: null }) }

/** Version 2 of `WebhookDeliveryAttemptFailed` always had a next attempt. */
const attemptFailedUpcasters = { ...failedUpcasters, 2: (data: unknown) => data }

/** Redeliveries of version 1 did not contain the endpoint revision. */
const redeliveryUpcasters = { 1: (data: unknown) => ({ ...Object(data), endpointRevision: null }) }

export const webhookDeliveryEvents = {
  WebhookDeliveryScheduled: defineEvent(
    'WebhookDeliveryScheduled',
    Type.Object({
      ...named,
      organisationId: OrgId,
      /** `eventId` is the delivered domain event; a test has an id of its own. */
      origin: DeliveryOrigin,
      eventType: DeliveredEventType,
      /** Null for a test. */
      assessmentId: Nullable(Id),
      /** When the event happened, or when the test was requested. */
      occurredAt: Instant,
      /** The request of the client for a test; else null. */
      request: CausingRequest,
      scheduledAt: Instant,
    }),
    { version: 2, upcasters: scheduledUpcasters },
  ),
  /** Appended before the call, so the receiver of an attempt without an outcome may have the message. */
  WebhookDeliveryAttempted: defineEvent(
    'WebhookDeliveryAttempted',
    Type.Object({
      deliveryId: Id,
      attempt: Type.Integer({ minimum: 1 }),
      attemptedAt: Instant,
      leaseUntil: Instant,
      shown: ShownContent,
    }),
    { version: 2, upcasters: attemptedUpcasters },
  ),
  WebhookDelivered: defineEvent(
    'WebhookDelivered',
    Type.Object({
      ...named,
      attempt: Type.Integer({ minimum: 1 }),
      durationMs: Type.Integer({ minimum: 0 }),
      statusCode: Type.Integer(),
      deliveredAt: Instant,
    }),
  ),
  WebhookDeliveryAttemptFailed: defineEvent(
    'WebhookDeliveryAttemptFailed',
    /** `nextAttemptAt` is null if the delivery was cancelled during the attempt. Then no attempt follows. */
    Type.Object({ ...failure, nextAttemptAt: Nullable(Instant) }),
    { version: 3, upcasters: attemptFailedUpcasters },
  ),
  /** An operator asked for the next try of a failing delivery before its time. Its place in the schedule stays. */
  WebhookDeliveryBroughtForward: defineEvent(
    'WebhookDeliveryBroughtForward',
    Type.Object({ ...named, nextAttemptAt: Instant }),
  ),
  /** The last attempt of the schedule failed. */
  WebhookDeliveryFailed: defineEvent('WebhookDeliveryFailed', Type.Object(failure), {
    version: 2,
    upcasters: failedUpcasters,
  }),
  /** The subscription was disabled or deleted while this delivery was pending. */
  WebhookDeliveryCancelled: defineEvent(
    'WebhookDeliveryCancelled',
    Type.Object({
      ...named,
      reason: CancelReason,
      cancelledAt: Instant,
    }),
  ),
  /** An ended delivery is pending again, with the same id, for another round of the schedule. */
  WebhookRedeliveryRequested: defineEvent(
    'WebhookRedeliveryRequested',
    Type.Object({ ...asked, eventType: DeliveredEventType, assessmentId: Nullable(Id), requestedAt: Instant }),
    { version: 2, upcasters: redeliveryUpcasters },
  ),
  /**
   * A request without a new round: the delivery is already pending, or a recovery found that it was delivered
   * meanwhile.
   */
  WebhookRedeliveryUnneeded: defineEvent('WebhookRedeliveryUnneeded', Type.Object({ ...asked, decidedAt: Instant }), {
    version: 2,
    upcasters: redeliveryUpcasters,
  }),
} as const

export type WebhookDeliveryEvent = EventOf<typeof webhookDeliveryEvents>

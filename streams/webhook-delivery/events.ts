import { Type, type Static } from 'typebox'
import { defineEvent, type EventOf } from '../store/schema.ts'
import { CausingRequest, Id, Instant, Nullable, OrgId } from '../types.ts'
import { WebhookEventType } from '../webhook-subscriptions/events.ts'

export const DeliveryStatus = Type.Enum(['pending', 'delivered', 'failed', 'cancelled'])

/** What a delivery tells: an event that was subscribed to, or that a test was asked for. */
export const DeliveredEventType = Type.Enum([...WebhookEventType.enum, 'webhook.test'])
export type DeliveredEventType = Static<typeof DeliveredEventType>

/** Why an attempt failed: the class of the outside error, never the receiver's own words. */
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
 * The endpoint that a failure counts against: the subscription's `endpointRevision` that was called, and when it is to
 * be looked at if nothing is delivered until then. Null for a test, which counts against none.
 */
export const FailedEndpoint = Nullable(Type.Object({ revision: Type.Integer({ minimum: 0 }), reviewAt: Instant }))
export type FailedEndpoint = Static<typeof FailedEndpoint>

const named = { deliveryId: Id, subscriptionId: Id, eventId: Id }
const failure = {
  ...named,
  /** Numbers go on over redeliveries. */
  attempt: Type.Integer({ minimum: 1 }),
  durationMs: Type.Integer({ minimum: 0 }),
  statusCode: Nullable(Type.Integer()),
  errorClass: DeliveryErrorClass,
  endpoint: FailedEndpoint,
  failedAt: Instant,
}

const asked = {
  ...named,
  /** The subscription's, as whoever asked found it: tells what was asked for since it was last disabled. Null before this was recorded. */
  endpointRevision: Nullable(Type.Integer({ minimum: 0 })),
  /** The recovery that asked; null when it was asked for by itself. */
  recoveryId: Nullable(Id),
  request: CausingRequest,
}

/** Version 1 of `WebhookDeliveryScheduled` told events only, none that a client asked for. */
const scheduledUpcasters = {
  1: (data: unknown) => {
    const scheduled: { scheduledAt?: unknown } = Object(data)
    return { ...scheduled, origin: 'event', occurredAt: scheduled.scheduledAt, request: null }
  },
}

/** Version 1 of the failures did not count against an endpoint. */
const failedUpcasters = { 1: (data: unknown) => ({ ...Object(data), endpoint: null }) }

/** Version 2 of `WebhookDeliveryAttemptFailed` always had a next attempt. */
const attemptFailedUpcasters = { ...failedUpcasters, 2: (data: unknown) => data }

/** Version 1 of the redeliveries did not say which endpoint they were asked for. */
const redeliveryUpcasters = { 1: (data: unknown) => ({ ...Object(data), endpointRevision: null }) }

export const webhookDeliveryEvents = {
  WebhookDeliveryScheduled: defineEvent(
    'WebhookDeliveryScheduled',
    Type.Object({
      ...named,
      organisationId: OrgId,
      /** `eventId` names the domain event that is told; of a test it is an id of its own. */
      origin: Type.Enum(['event', 'test']),
      eventType: DeliveredEventType,
      /** Null for a test. */
      assessmentId: Nullable(Id),
      /** When what is told happened, or the test was asked for. */
      occurredAt: Instant,
      /** Of the client that asked for a test; else null. */
      request: CausingRequest,
      scheduledAt: Instant,
    }),
    { version: 2, upcasters: scheduledUpcasters },
  ),
  WebhookDeliveryAttempted: defineEvent(
    'WebhookDeliveryAttempted',
    Type.Object({ deliveryId: Id, attempt: Type.Integer({ minimum: 1 }), attemptedAt: Instant, leaseUntil: Instant }),
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
    /** `nextAttemptAt` is null where it was cancelled during the attempt: it stays so, and none follows. */
    Type.Object({ ...failure, nextAttemptAt: Nullable(Instant) }),
    { version: 3, upcasters: attemptFailedUpcasters },
  ),
  /** The last attempt of the schedule failed. */
  WebhookDeliveryFailed: defineEvent('WebhookDeliveryFailed', Type.Object(failure), {
    version: 2,
    upcasters: failedUpcasters,
  }),
  /** The subscription was disabled or deleted while this was pending. */
  WebhookDeliveryCancelled: defineEvent(
    'WebhookDeliveryCancelled',
    Type.Object({
      ...named,
      reason: Type.Enum(['subscription_disabled', 'subscription_deleted']),
      cancelledAt: Instant,
    }),
  ),
  /** What had ended is pending again, under the same id, for another round of the schedule. */
  WebhookRedeliveryRequested: defineEvent(
    'WebhookRedeliveryRequested',
    Type.Object({ ...asked, eventType: DeliveredEventType, assessmentId: Nullable(Id), requestedAt: Instant }),
    { version: 2, upcasters: redeliveryUpcasters },
  ),
  /** Asked for again where no round begins: it is pending already, or a recovery found that it was delivered meanwhile. */
  WebhookRedeliveryUnneeded: defineEvent('WebhookRedeliveryUnneeded', Type.Object({ ...asked, decidedAt: Instant }), {
    version: 2,
    upcasters: redeliveryUpcasters,
  }),
} as const

export type WebhookDeliveryEvent = EventOf<typeof webhookDeliveryEvents>

import { Type, type Static } from 'typebox'
import { defineEvent, type EventOf } from '../store/schema.ts'
import { Id, Instant, Nullable } from '../types.ts'
import { WebhookEventType } from '../webhook-subscriptions/events.ts'

/** Why an attempt failed: the class of the outside error, never the receiver's own words. */
export const DeliveryErrorClass = Type.Enum(['http_status', 'redirect', 'timeout', 'connect', 'dns', 'tls', 'address_forbidden', 'body_too_large', 'aborted'])
export type DeliveryErrorClass = Static<typeof DeliveryErrorClass>

export const webhookDeliveryEvents = {
  WebhookDeliveryScheduled: defineEvent(
    'WebhookDeliveryScheduled',
    Type.Object({
      deliveryId: Id,
      subscriptionId: Id,
      organisationId: Id,
      /** The domain event that is told. */
      eventId: Id,
      eventType: WebhookEventType,
      assessmentId: Id,
      scheduledAt: Instant,
    }),
  ),
  WebhookDeliveryAttempted: defineEvent(
    'WebhookDeliveryAttempted',
    Type.Object({ deliveryId: Id, attempt: Type.Integer({ minimum: 1 }), attemptedAt: Instant, leaseUntil: Instant }),
  ),
  WebhookDelivered: defineEvent(
    'WebhookDelivered',
    Type.Object({
      deliveryId: Id,
      subscriptionId: Id,
      eventId: Id,
      attempt: Type.Integer({ minimum: 1 }),
      statusCode: Type.Integer(),
      durationMs: Type.Integer({ minimum: 0 }),
      deliveredAt: Instant,
    }),
  ),
  WebhookDeliveryAttemptFailed: defineEvent(
    'WebhookDeliveryAttemptFailed',
    Type.Object({
      deliveryId: Id,
      subscriptionId: Id,
      eventId: Id,
      attempt: Type.Integer({ minimum: 1 }),
      statusCode: Nullable(Type.Integer()),
      errorClass: DeliveryErrorClass,
      durationMs: Type.Integer({ minimum: 0 }),
      failedAt: Instant,
      nextAttemptAt: Instant,
    }),
  ),
  /** The last attempt of the schedule failed. */
  WebhookDeliveryFailed: defineEvent(
    'WebhookDeliveryFailed',
    Type.Object({
      deliveryId: Id,
      subscriptionId: Id,
      eventId: Id,
      attempt: Type.Integer({ minimum: 1 }),
      statusCode: Nullable(Type.Integer()),
      errorClass: DeliveryErrorClass,
      durationMs: Type.Integer({ minimum: 0 }),
      failedAt: Instant,
    }),
  ),
} as const

export type WebhookDeliveryEvent = EventOf<typeof webhookDeliveryEvents>

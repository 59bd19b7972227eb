import { Type, type Static } from 'typebox'
import { defineEvent, type EventOf } from '../store/schema.ts'
import { Fingerprint, Id, Instant, Nullable } from '../types.ts'

export const WebhookEventType = Type.Union([Type.Literal('assessment.completed'), Type.Literal('assessment.failed')])
export type WebhookEventType = Static<typeof WebhookEventType>

export const webhookSubscriptionEvents = {
  WebhookSubscribed: defineEvent(
    'WebhookSubscribed',
    Type.Object({
      subscriptionId: Id,
      organisationId: Id,
      url: Type.String(),
      eventTypes: Type.Array(WebhookEventType),
      description: Nullable(Type.String()),
      payloadMode: Type.Union([Type.Literal('full'), Type.Literal('thin')]),
      createdAt: Instant,
      fingerprint: Fingerprint,
    }),
  ),
} as const

export type WebhookSubscriptionEvent = EventOf<typeof webhookSubscriptionEvents>

import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Fingerprint, Id, Instant, OrgId } from '../../engine/aggregates/types.ts'

/** Most deliveries of one recovery. */
export const mostRecovered = 1000

export const webhookRecoveryEvents = {
  /** Lists the deliveries to repeat, as found at the request. So a repeat of the request gets the same answer. */
  WebhookRecoveryRequested: defineEvent(
    'WebhookRecoveryRequested',
    Type.Object({
      recoveryId: Id,
      subscriptionId: Id,
      organisationId: OrgId,
      /** Deliveries of events from `since` on and before `until`. */
      since: Instant,
      until: Instant,
      deliveries: Type.Array(Type.Object({ deliveryId: Id, eventId: Id }), { maxItems: mostRecovered }),
      hasMore: Type.Boolean(),
      fingerprint: Fingerprint,
      requestedAt: Instant,
    }),
  ),
} as const

export type WebhookRecoveryEvent = EventOf<typeof webhookRecoveryEvents>

import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../store/schema.ts'
import { Fingerprint, Id, Instant, OrgId } from '../types.ts'

/** So many deliveries one recovery names at most. */
export const mostRecovered = 1000

export const webhookRecoveryEvents = {
  /** Names what is to be delivered again as it was found then, so that a repeat is answered alike. */
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

import type { CancelReason, WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import type { WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import { openLeaseEnd, type Decision } from '../../engine/commands/decision.ts'
import type { NewDelivery } from './deliver-webhook.ts'

export interface CancelDelivery {
  readonly delivery: NewDelivery
  readonly reason: CancelReason
  /** Revision at which the subscription was last disabled. Null if it was deleted. */
  readonly disabledRevision: number | null
  readonly now: Date
}

/**
 * Cancels a pending delivery, also before its first attempt. Does nothing while an attempt is open, because the outcome
 * of the attempt comes first. A client may have enabled the subscription and requested the delivery again. The answer
 * was then `pending`, so a new round follows the cancellation. A round that began after the subscription was disabled
 * continues.
 */
export function cancelDelivery(
  { delivery, reason, disabledRevision, now }: CancelDelivery,
  state: WebhookDeliveryState,
): Decision<WebhookDeliveryEvent> {
  const { deliveryId, subscriptionId, eventId } = delivery
  const at = now.toISOString()
  const named = { deliveryId, subscriptionId, eventId }
  const cancelled: WebhookDeliveryEvent = {
    type: 'WebhookDeliveryCancelled',
    data: { ...named, reason, cancelledAt: at },
  }
  if (state.status === 'absent')
    return [{ type: 'WebhookDeliveryScheduled', data: { ...delivery, scheduledAt: at } }, cancelled]
  const isOpen = openLeaseEnd(state.openLeaseUntil, now) !== null
  const { roundOf, askedOf, eventType, assessmentId } = state
  if (state.status !== 'pending' || isOpen || isSince(roundOf, disabledRevision)) return []
  if (!isSince(askedOf, disabledRevision)) return [cancelled]
  const asked = { ...named, eventType, assessmentId, endpointRevision: askedOf, recoveryId: null, request: null }
  return [cancelled, { type: 'WebhookRedeliveryRequested', data: { ...asked, requestedAt: at } }]
}

function isSince(endpointRevision: number | null, disabledRevision: number | null): boolean {
  return endpointRevision !== null && disabledRevision !== null && endpointRevision > disabledRevision
}

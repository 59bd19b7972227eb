import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import type { WebhookDeliveryState } from '../../streams/webhook-delivery/state.ts'
import type { Decision } from '../handling/decision.ts'
import { openUntil } from '../handling/open-lease.ts'
import type { NewDelivery } from './deliver-webhook.ts'

export type CancelReason = Extract<WebhookDeliveryEvent, { type: 'WebhookDeliveryCancelled' }>['data']['reason']

export interface CancelDelivery {
  readonly delivery: NewDelivery
  readonly reason: CancelReason
  readonly now: Date
}

/**
 * Ends a delivery that is pending, also one that has never been attempted. Nothing while an attempt is open: what the
 * receiver makes of that is told first.
 */
export function cancelDelivery({ delivery, reason, now }: CancelDelivery, state: WebhookDeliveryState): Decision<WebhookDeliveryEvent> {
  const { deliveryId, subscriptionId, eventId } = delivery
  const at = now.toISOString()
  const cancelled: WebhookDeliveryEvent = { type: 'WebhookDeliveryCancelled', data: { deliveryId, subscriptionId, eventId, reason, cancelledAt: at } }
  if (state.status === 'absent') return [{ type: 'WebhookDeliveryScheduled', data: { ...delivery, scheduledAt: at } }, cancelled]
  const isOpen = openUntil(state.openLeaseUntil, now) !== null
  return state.status !== 'pending' || isOpen ? [] : [cancelled]
}

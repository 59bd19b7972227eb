import type { Decision } from '../../engine/commands/decision.ts'
import type { WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'

/** Makes the next try of a pending delivery due now. A delivery that is due already, or is over, does not change. */
export function bringDeliveryForward(
  { now }: { readonly now: Date },
  state: WebhookDeliveryState,
): Decision<WebhookDeliveryEvent> {
  if (state.status !== 'pending' || state.nextAttemptAt === null) return []
  if (Date.parse(state.nextAttemptAt) <= now.getTime()) return []
  const { deliveryId, subscriptionId, eventId } = state
  return [
    {
      type: 'WebhookDeliveryBroughtForward',
      data: { deliveryId, subscriptionId, eventId, nextAttemptAt: now.toISOString() },
    },
  ]
}

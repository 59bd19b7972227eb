import { v5 } from 'uuid'
import { ownedStream } from '../stream-name.ts'

export const category = 'webhook_delivery'

/** The delivery's id is also its `webhook-id`: one per subscription and domain event, whatever is retried. */
export function deliveryIdOf(subscriptionId: string, eventId: string): string {
  return v5(eventId, subscriptionId)
}

export function webhookDeliveryStream(orgId: string, deliveryId: string): string {
  return ownedStream(category, orgId, deliveryId)
}

import type { WebhookDeliveryView } from '../../contracts/webhooks/delivery.ts'
import type { WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'

export type MadeDelivery = Exclude<WebhookDeliveryState, { readonly status: 'absent' }>

/** What the record shows of a delivery as its stream has it. */
export function viewOfDelivery(state: MadeDelivery): WebhookDeliveryView {
  const { deliveryId, eventType, assessmentId, status, attempts, nextAttemptAt, occurredAt } = state
  return { deliveryId, eventType, assessmentId, status, attempts, nextAttemptAt, createdAt: occurredAt }
}

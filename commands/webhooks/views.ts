import type { WebhookDeliveryView } from '../../contracts/webhooks/delivery.ts'
import type { WebhookSubscriptionView } from '../../contracts/webhooks/subscription.ts'
import type { WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import type { WebhookSubscription } from '../../streams/webhook-subscriptions/aggregate.ts'

/** The record's view of a subscription, from its stream. */
export function viewOf(subscription: WebhookSubscription): WebhookSubscriptionView {
  return { ...subscription, publicKey: subscription.secrets[0].publicKey }
}

export type MadeDelivery = Exclude<WebhookDeliveryState, { readonly status: 'absent' }>

/** The record's view of a delivery, from its stream. */
export function viewOfDelivery(state: MadeDelivery): WebhookDeliveryView {
  const { deliveryId, eventType, assessmentId, status, attempts, nextAttemptAt, occurredAt } = state
  return { deliveryId, eventType, assessmentId, status, attempts, nextAttemptAt, createdAt: occurredAt }
}

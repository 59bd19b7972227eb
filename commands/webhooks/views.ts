import type { WebhookDeliveryView } from '../../contracts/webhooks/delivery.ts'
import type { WebhookSubscriptionView } from '../../contracts/webhooks/subscription.ts'
import { problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import { webhookSubscriptions, type WebhookSubscription } from '../../streams/webhook-subscriptions/aggregate.ts'

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

/**
 * A subscription of the organisation, from a fresh read of its stream.
 *
 * @throws Problem `not-found`
 */
export async function ownSubscription(
  store: EventStore,
  org: TenantId,
  subscriptionId: string,
): Promise<WebhookSubscription> {
  const { state } = await store.load(webhookSubscriptions.of(org))
  const subscription = state.subscriptions.get(subscriptionId)
  if (subscription === undefined) throw problem('not-found')
  return subscription
}

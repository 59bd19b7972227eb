import type { WebhookSubscriptionView } from '../../contracts/webhooks/subscription.ts'
import type { WebhookSubscription } from '../../streams/webhook-subscriptions/aggregate.ts'

/** The record's view of a subscription as its stream tells it. */
export function viewOf(subscription: WebhookSubscription): WebhookSubscriptionView {
  return { ...subscription, publicKey: subscription.secrets[0].publicKey }
}

import type { Fold } from '../store/events.ts'
import type { WebhookSubscriptionEvent } from './events.ts'
import { category } from './stream.ts'

export type WebhookSubscription = WebhookSubscriptionEvent['data']

export interface WebhookSubscriptionsState {
  readonly subscriptions: ReadonlyMap<string, WebhookSubscription>
}

function evolve(state: WebhookSubscriptionsState, event: WebhookSubscriptionEvent): WebhookSubscriptionsState {
  return { subscriptions: new Map(state.subscriptions).set(event.data.subscriptionId, event.data) }
}

export const webhookSubscriptionsFold: Fold<WebhookSubscriptionsState, WebhookSubscriptionEvent> = {
  category,
  initialState: { subscriptions: new Map() },
  evolve,
}

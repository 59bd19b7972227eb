import type { WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import type { WebhookSubscriptionsState } from '../../streams/webhook-subscriptions/aggregate.ts'
import { refused, type Decision } from '../handling/decision.ts'
import { isAdmitted, type ChangeSubscription } from './change-subscription.ts'

export type DeleteSubscription = Pick<ChangeSubscription, 'subscriptionId' | 'admitted' | 'now'>

/** For good; its secrets stay in the vault for a while, since a delivery may be under way. */
export function deleteSubscription(
  command: DeleteSubscription,
  state: WebhookSubscriptionsState,
): Decision<WebhookSubscriptionEvent, 'not-found' | 'precondition-failed'> {
  const { subscriptionId, now } = command
  const own = state.subscriptions.get(subscriptionId)
  if (own === undefined) return refused('not-found')
  if (!isAdmitted(command, own)) return refused('precondition-failed')
  return [{ type: 'WebhookSubscriptionDeleted', data: { subscriptionId, deletedAt: now.toISOString() } }]
}

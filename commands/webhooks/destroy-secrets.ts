import type { WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import type { WebhookSubscriptionsState } from '../../streams/webhook-subscriptions/aggregate.ts'
import type { Decision } from '../handling/decision.ts'

export interface DestroySecrets {
  readonly subscriptionId: string
  readonly now: Date
}

/** Records that what a deleted subscription was signed with is no more. Nothing of one that was not deleted, and nothing twice. */
export function destroySecrets(
  { subscriptionId, now }: DestroySecrets,
  state: WebhookSubscriptionsState,
): Decision<WebhookSubscriptionEvent> {
  if (!state.deleted.has(subscriptionId) || state.destroyed.has(subscriptionId)) return []
  return [{ type: 'WebhookSecretsDestroyed', data: { subscriptionId, destroyedAt: now.toISOString() } }]
}

import { problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import { webhookSubscriptions, type WebhookSubscription } from '../../streams/webhook-subscriptions/aggregate.ts'

/**
 * A subscription of the organisation as its stream has it now, whoever wrote there.
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

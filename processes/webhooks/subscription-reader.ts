import type { EventStore } from '../../engine/store/event-store.ts'
import { webhookSubscriptions, type WebhookSubscription } from '../../streams/webhook-subscriptions/aggregate.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/**
 * Reads a subscription from its stream, never from a cache. Another process may have changed, disabled or deleted it, and
 * no append of this process would find that. Undefined when it was deleted.
 * @throws EventStoreUnavailableError
 */
export async function readSubscription(
  { store }: { readonly store: Pick<EventStore, 'load'> },
  orgId: TenantId,
  subscriptionId: string,
): Promise<WebhookSubscription | undefined> {
  return (await store.load(webhookSubscriptions.of(orgId))).state.subscriptions.get(subscriptionId)
}

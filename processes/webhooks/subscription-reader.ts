import type { EventStore } from '../../engine/store/event-store.ts'
import {
  webhookSubscriptions,
  type WebhookSubscription,
  type WebhookSubscriptionsState,
} from '../../streams/webhook-subscriptions/aggregate.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/**
 * Reads subscriptions from their stream, never from a cache. Another process may have changed, disabled or deleted one,
 * and no append of this process would find that.
 */
export interface SubscriptionReader {
  /** Undefined when it was deleted. @throws EventStoreUnavailableError */
  read(orgId: TenantId, subscriptionId: string): Promise<WebhookSubscription | undefined>
}

type Reading = Promise<WebhookSubscriptionsState>

/**
 * A read answers all callers that came before it began. So there is one read per round trip, for any number of callers.
 */
export function createSubscriptionReader(store: Pick<EventStore, 'load'>): SubscriptionReader {
  const running = new Map<string, Reading>()
  const next = new Map<string, Reading>()

  function begin(stream: string): Reading {
    const reading = store
      .load(webhookSubscriptions.at(stream))
      .then(({ state }) => state)
      .finally(() => running.delete(stream))
    running.set(stream, reading)
    return reading
  }

  function after(reading: Reading, stream: string): Reading {
    const begun = () => {
      next.delete(stream)
      return begin(stream)
    }
    const following = reading.then(begun, begun)
    next.set(stream, following)
    return following
  }

  return {
    async read(orgId, subscriptionId) {
      const stream = webhookSubscriptions.of(orgId).stream
      const current = running.get(stream)
      const reading = current === undefined ? begin(stream) : (next.get(stream) ?? after(current, stream))
      return (await reading).subscriptions.get(subscriptionId)
    },
  }
}

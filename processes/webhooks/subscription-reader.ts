import type { EventStore } from '../../streams/store/event-store.ts'
import {
  webhookSubscriptionsFold,
  type WebhookSubscription,
  type WebhookSubscriptionsState,
} from '../../streams/webhook-subscriptions/state.ts'
import { webhookSubscriptionsStream } from '../../streams/webhook-subscriptions/stream.ts'

/**
 * Subscriptions as their stream has them after the question was put: another process may have changed, disabled or
 * deleted one, and no append of ours would tell.
 */
export interface SubscriptionReader {
  /** Undefined when it was deleted. @throws EventStoreUnavailableError */
  read(orgId: string, subscriptionId: string): Promise<WebhookSubscription | undefined>
}

type Reading = Promise<WebhookSubscriptionsState>

/** A read that begins after a question answers all that were put before it began: one per round trip, however many ask. */
export function createSubscriptionReader(store: Pick<EventStore, 'load'>): SubscriptionReader {
  const running = new Map<string, Reading>()
  const next = new Map<string, Reading>()

  function begin(stream: string): Reading {
    const reading = store
      .load(webhookSubscriptionsFold, stream, { fresh: true })
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
      const stream = webhookSubscriptionsStream(orgId)
      const current = running.get(stream)
      const reading = current === undefined ? begin(stream) : (next.get(stream) ?? after(current, stream))
      return (await reading).subscriptions.get(subscriptionId)
    },
  }
}

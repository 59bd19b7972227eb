import { appends } from '../../engine/processes/attempt.ts'
import { destroySecrets } from '../../commands/webhooks/change-subscription.ts'
import { destroyStored } from '../../commands/webhooks/secrets.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import { webhookSubscriptions, type WebhookSecret } from '../../streams/webhook-subscriptions/aggregate.ts'
import type { ProcessStep } from '../dependencies.ts'
import { isOf } from '../../engine/relay/channel.ts'

/**
 * Destroys all secrets that a deleted subscription ever had, when no earlier attempt can need them. Pending deliveries
 * are cancelled, and need no signature.
 */
export const destroyOldSecrets: ProcessStep = async (todo, { store, vault }, step) => {
  const target = webhookSubscriptions.of(todo.orgId)
  const { state } = await store.load(target)
  if (!state.deleted.has(todo.key)) throw new Error('the secrets of a subscription that was not deleted stay')
  for (const secret of await secretsOf(store, target.stream, todo.key)) await destroyStored(vault, secret)
  // The event contains the instant of the destruction, which differs from run to run. So its id is new on each run.
  const command = { subscriptionId: todo.key, now: step.now() }
  return appends(store, target, (current) => destroySecrets(command, current), todo.attempt())
}

type StoredSecret = Pick<WebhookSecret, 'secretId' | 'publicKey'>

/** Reads all events: the state contains only the secrets that still sign, and none of a deleted subscription. */
async function secretsOf(store: EventStore, stream: string, subscriptionId: string): Promise<readonly StoredSecret[]> {
  const found: StoredSecret[] = []
  for await (const event of store.readStream<WebhookSubscriptionEvent>(stream)) {
    if (!isOf(event, ['WebhookSubscribed', 'WebhookSecretRotated'])) continue
    if (event.data.subscriptionId !== subscriptionId) continue
    found.push(event.data)
  }
  return found
}

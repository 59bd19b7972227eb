import type {
  PayloadMode,
  PublicKey,
  SignatureScheme,
  WebhookEventType,
  WebhookSubscriptionEvent,
} from '../../streams/webhook-subscriptions/events.ts'
import type { WebhookSubscription, WebhookSubscriptionsState } from '../../streams/webhook-subscriptions/aggregate.ts'
import { refused, repeated, type Decision } from '../../engine/commands/decision.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

export interface SubscribeWebhook {
  readonly subscriptionId: string
  readonly organisationId: TenantId
  readonly url: string
  readonly eventTypes: readonly WebhookEventType[]
  readonly description: string | null
  readonly payloadMode: PayloadMode
  readonly signatureSchemes: readonly SignatureScheme[]
  readonly secretId: string
  readonly publicKey: PublicKey | null
  readonly now: Date
  readonly fingerprint: string | null
}

const limit = 20

/** All subscriptions of an organisation are in one stream, so it can enforce the limit and detect duplicates. */
export function subscribeWebhook(
  command: SubscribeWebhook,
  state: WebhookSubscriptionsState,
): Decision<WebhookSubscriptionEvent, 'subscription-limit' | 'subscription-deleted' | 'idempotency-key-reused'> {
  const existing = state.subscriptions.get(command.subscriptionId)
  if (existing !== undefined) return repeated(command, existing)
  if (state.deleted.has(command.subscriptionId)) return refused('subscription-deleted')
  if (duplicateOf(command, state) !== undefined) return []
  if (state.subscriptions.size >= limit) return refused('subscription-limit')
  const { now, ...data } = command
  const eventTypes = sortedOnce(command.eventTypes)
  const signatureSchemes = sortedOnce(command.signatureSchemes)
  return [{ type: 'WebhookSubscribed', data: { ...data, eventTypes, signatureSchemes, createdAt: now.toISOString() } }]
}

/** An existing subscription with the same address and events, other than `except`. */
export function duplicateOf(
  { url, eventTypes }: Pick<SubscribeWebhook, 'url' | 'eventTypes'>,
  state: WebhookSubscriptionsState,
  except?: string,
): WebhookSubscription | undefined {
  const wanted = sortedOnce(eventTypes).join()
  return [...state.subscriptions.values()].find(
    (other) => other.subscriptionId !== except && other.url === url && other.eventTypes.join() === wanted,
  )
}

export function sortedOnce<Name extends string>(names: readonly Name[]): Name[] {
  return [...new Set(names)].toSorted()
}

import type {
  PayloadMode,
  SubscriptionStatus,
  WebhookEventType,
  WebhookSubscriptionEvent,
} from '../../streams/webhook-subscriptions/events.ts'
import type { WebhookSubscription, WebhookSubscriptionsState } from '../../streams/webhook-subscriptions/aggregate.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import { duplicateOf, sortedOnce } from './subscribe-webhook.ts'

export interface ChangeSubscription {
  readonly subscriptionId: string
  /** Undefined members stay unchanged. */
  readonly url: string | undefined
  readonly eventTypes: readonly WebhookEventType[] | undefined
  readonly description: string | null | undefined
  readonly payloadMode: PayloadMode | undefined
  readonly status: SubscriptionStatus | undefined
  /** Revisions in If-Match. */
  readonly admitted: readonly bigint[] | undefined
  readonly now: Date
}

/**
 * Changes the data of a subscription, and whether it is active. If-Match is compared with the subscription's own
 * revision, because its stream also contains the other subscriptions of the organisation. A change to equal values
 * appends nothing.
 */
export function changeSubscription(
  command: ChangeSubscription,
  state: WebhookSubscriptionsState,
): Decision<WebhookSubscriptionEvent, 'not-found' | 'precondition-failed' | 'webhook-subscription-duplicate'> {
  const own = state.subscriptions.get(command.subscriptionId)
  if (own === undefined) return refused('not-found')
  const events = [...described(command, own), ...switched(command, own)]
  if (events.length === 0) return []
  if (!isAdmitted(command, own)) return refused('precondition-failed')
  const { url = own.url, eventTypes = own.eventTypes } = command
  return duplicateOf({ url, eventTypes }, state, own.subscriptionId) === undefined
    ? events
    : refused('webhook-subscription-duplicate')
}

export function isAdmitted(
  { admitted }: Pick<ChangeSubscription, 'admitted'>,
  { revision }: WebhookSubscription,
): boolean {
  return admitted === undefined || admitted.includes(BigInt(revision))
}

function described(command: ChangeSubscription, own: WebhookSubscription): WebhookSubscriptionEvent[] {
  const { subscriptionId, now, url = own.url, description = own.description, payloadMode = own.payloadMode } = command
  const eventTypes = sortedOnce(command.eventTypes ?? own.eventTypes)
  const isNewEndpoint = url !== own.url
  const isSame =
    !isNewEndpoint &&
    description === own.description &&
    payloadMode === own.payloadMode &&
    eventTypes.join() === own.eventTypes.join()
  if (isSame) return []
  const data = {
    subscriptionId,
    url,
    eventTypes,
    description,
    payloadMode,
    isNewEndpoint,
    changedAt: now.toISOString(),
  }
  return [{ type: 'WebhookSubscriptionChanged', data }]
}

function switched(
  { subscriptionId, status, now }: ChangeSubscription,
  own: WebhookSubscription,
): WebhookSubscriptionEvent[] {
  if (status === undefined || status === own.status) return []
  const at = now.toISOString()
  return status === 'active'
    ? [{ type: 'WebhookSubscriptionEnabled', data: { subscriptionId, enabledAt: at } }]
    : [{ type: 'WebhookSubscriptionDisabled', data: { subscriptionId, reason: 'requested', disabledAt: at } }]
}

export type DeleteSubscription = Pick<ChangeSubscription, 'subscriptionId' | 'admitted' | 'now'>

/** Permanent. Its secrets stay in the vault for a while, because a delivery may be under way. */
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

export interface DestroySecrets {
  readonly subscriptionId: string
  readonly now: Date
}

/** Records that the secrets of a deleted subscription are destroyed. Only for a deleted subscription, and only once. */
export function destroySecrets(
  { subscriptionId, now }: DestroySecrets,
  state: WebhookSubscriptionsState,
): Decision<WebhookSubscriptionEvent> {
  if (!state.deleted.has(subscriptionId) || state.destroyed.has(subscriptionId)) return []
  return [{ type: 'WebhookSecretsDestroyed', data: { subscriptionId, destroyedAt: now.toISOString() } }]
}

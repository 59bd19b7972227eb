import type { FailingPercent, WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import type { WebhookSubscription, WebhookSubscriptionsState } from '../../streams/webhook-subscriptions/state.ts'
import type { Decision } from '../handling/decision.ts'

/** The endpoint that failures were counted against: what it has become since does not answer for them. */
export interface CountedEndpoint {
  readonly subscriptionId: string
  readonly endpointRevision: number
}

export interface ReviewEndpoint extends CountedEndpoint {
  /** The first failure after which nothing was delivered; RFC 3339. */
  readonly failingSince: string
  readonly now: Date
  readonly disableAfterMs: number
}

const percents: readonly FailingPercent[] = [50, 70, 90]

/**
 * An endpoint without a success: warns when parts of the time that it is given have passed, each once and only of the
 * last one, and disables the subscription at its end.
 */
export function reviewEndpoint(command: ReviewEndpoint, state: WebhookSubscriptionsState): Decision<WebhookSubscriptionEvent> {
  const { subscriptionId, failingSince, now, disableAfterMs } = command
  const subscription = endpointOf(command, state)
  if (subscription === undefined) return []
  const elapsedMs = now.getTime() - Date.parse(failingSince)
  if (elapsedMs >= disableAfterMs) return [disabled(subscriptionId, 'no_success', now)]
  const percent = percents.findLast((one) => elapsedMs >= partOf(command, one))
  if (percent === undefined || percent <= warnedOf(subscription, failingSince)) return []
  const warning = { subscriptionId, percent, failingSince, warnedAt: now.toISOString() }
  const ahead = { disableAt: passing(command, 100).toISOString(), nextReviewAt: passing(command, nextOf(percent)).toISOString() }
  return [{ type: 'WebhookEndpointFailing', data: { ...warning, ...ahead } }]
}

/** When an endpoint of which there is nothing to say now is to be looked at again; null when it is no longer that one. */
export function nextReviewOf(command: ReviewEndpoint, state: WebhookSubscriptionsState): Date | null {
  const subscription = endpointOf(command, state)
  return subscription === undefined ? null : passing(command, nextOf(warnedOf(subscription, command.failingSince)))
}

/** The receiver said that it is gone for good (410). */
export function disableGone(command: CountedEndpoint & { readonly now: Date }, state: WebhookSubscriptionsState): Decision<WebhookSubscriptionEvent> {
  return endpointOf(command, state) === undefined ? [] : [disabled(command.subscriptionId, 'gone', command.now)]
}

function endpointOf({ subscriptionId, endpointRevision }: CountedEndpoint, { subscriptions }: WebhookSubscriptionsState): WebhookSubscription | undefined {
  const found = subscriptions.get(subscriptionId)
  return found?.status === 'active' && found.endpointRevision === endpointRevision ? found : undefined
}

function disabled(subscriptionId: string, reason: 'gone' | 'no_success', now: Date): WebhookSubscriptionEvent {
  return { type: 'WebhookSubscriptionDisabled', data: { subscriptionId, reason, disabledAt: now.toISOString() } }
}

function warnedOf({ warned }: WebhookSubscription, failingSince: string): number {
  return warned?.failingSince === failingSince ? warned.percent : 0
}

function nextOf(percent: number): number {
  return percents.find((one) => one > percent) ?? 100
}

function partOf({ disableAfterMs }: ReviewEndpoint, percent: number): number {
  return (disableAfterMs * percent) / 100
}

function passing(command: ReviewEndpoint, percent: number): Date {
  return new Date(Date.parse(command.failingSince) + partOf(command, percent))
}

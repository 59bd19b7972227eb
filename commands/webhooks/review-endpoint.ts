import type { FailingPercent, WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import type { WebhookSubscription, WebhookSubscriptionsState } from '../../streams/webhook-subscriptions/aggregate.ts'
import type { Decision } from '../../engine/commands/decision.ts'

/** The endpoint with the counted failures. A changed endpoint has another revision, so old failures do not count. */
export interface CountedEndpoint {
  readonly subscriptionId: string
  readonly endpointRevision: number
}

export interface ReviewEndpoint extends CountedEndpoint {
  /** RFC 3339. The first failure since the last success. */
  readonly failingSince: string
  readonly now: Date
  readonly disableAfterMs: number
}

const percents: readonly FailingPercent[] = [50, 70, 90]
/** An outage delayed a review if it is later than both the time and the percentage of `disableAfterMs`. */
const mostLate = { ms: 60_000, percent: 1 }

/**
 * Reviews an endpoint that has had no success. Warns after 50, 70 and 90 % of the time until the subscription is
 * disabled, then disables it. A late review means that the platform may have been away and called nobody, so it delays
 * all further reviews by the same time. If the last review is late, the last tenth of the time begins again. So the
 * platform always calls the endpoint before it disables the subscription.
 */
export function reviewEndpoint(
  command: ReviewEndpoint,
  state: WebhookSubscriptionsState,
): Decision<WebhookSubscriptionEvent> {
  const { subscriptionId, failingSince, now } = command
  const review = nextReviewOf(command, state)
  if (review === null) return []
  const lateMs = now.getTime() - review.at.getTime()
  if (lateMs < 0) return []
  const isOutage = lateMs > Math.max(mostLate.ms, partOf(command, mostLate.percent))
  if (review.percent === null && !isOutage) return [disabled(subscriptionId, 'no_success', now)]
  const percent = review.percent ?? 90
  const partAhead = (upTo: number): string => new Date(now.getTime() + partOf(command, upTo - percent)).toISOString()
  const warning = { subscriptionId, percent, failingSince, warnedAt: now.toISOString() }
  return [
    {
      type: 'WebhookEndpointFailing',
      data: { ...warning, disableAt: partAhead(100), nextReviewAt: partAhead(after(percent) ?? 100) },
    },
  ]
}

export interface NextReview {
  readonly at: Date
  /** The warning that is due then. Null for the last review, which disables. */
  readonly percent: FailingPercent | null
}

/** The next review of an endpoint. Null if the endpoint has changed or its subscription is not active. */
export function nextReviewOf(command: ReviewEndpoint, state: WebhookSubscriptionsState): NextReview | null {
  const subscription = endpointOf(command, state)
  if (subscription === undefined) return null
  const warned = warnedOf(subscription, command.failingSince)
  if (warned === null) return { at: new Date(Date.parse(command.failingSince) + partOf(command, 50)), percent: 50 }
  return { at: new Date(warned.nextReviewAt), percent: after(warned.percent) ?? null }
}

/** Disables the subscription after an answer 410 of the receiver. */
export function disableGone(
  command: CountedEndpoint & { readonly now: Date },
  state: WebhookSubscriptionsState,
): Decision<WebhookSubscriptionEvent> {
  return endpointOf(command, state) === undefined ? [] : [disabled(command.subscriptionId, 'gone', command.now)]
}

function endpointOf(
  { subscriptionId, endpointRevision }: CountedEndpoint,
  { subscriptions }: WebhookSubscriptionsState,
): WebhookSubscription | undefined {
  const found = subscriptions.get(subscriptionId)
  return found?.status === 'active' && found.endpointRevision === endpointRevision ? found : undefined
}

function disabled(subscriptionId: string, reason: 'gone' | 'no_success', now: Date): WebhookSubscriptionEvent {
  return { type: 'WebhookSubscriptionDisabled', data: { subscriptionId, reason, disabledAt: now.toISOString() } }
}

function warnedOf({ warned }: WebhookSubscription, failingSince: string): WebhookSubscription['warned'] {
  return warned?.failingSince === failingSince ? warned : null
}

function after(percent: FailingPercent): FailingPercent | undefined {
  return percents.find((one) => one > percent)
}

function partOf({ disableAfterMs }: ReviewEndpoint, percent: number): number {
  return (disableAfterMs * percent) / 100
}

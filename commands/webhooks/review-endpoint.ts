import type { FailingPercent, WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import type { WebhookSubscription, WebhookSubscriptionsState } from '../../streams/webhook-subscriptions/aggregate.ts'
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
/** A last look that comes later than this, and than this part of the time that an endpoint is given, was held up by an outage. */
const mostLate = { ms: 60_000, percent: 1 }

/**
 * An endpoint without a success: warns when 50, 70 and 90 % of the time that it is given have passed, and disables the
 * subscription at its end. When a look is late, nobody may have called the endpoint meanwhile: all that follows is as much
 * later. Where that was the last look, the last tenth is given anew, so that it is called before it is disabled.
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
  /** What is to be warned of then; null where the time is over. */
  readonly percent: FailingPercent | null
}

/** When an endpoint is to be looked at again; null when it is no longer that one. */
export function nextReviewOf(command: ReviewEndpoint, state: WebhookSubscriptionsState): NextReview | null {
  const subscription = endpointOf(command, state)
  if (subscription === undefined) return null
  const warned = warnedOf(subscription, command.failingSince)
  if (warned === null) return { at: new Date(Date.parse(command.failingSince) + partOf(command, 50)), percent: 50 }
  return { at: new Date(warned.nextReviewAt), percent: after(warned.percent) ?? null }
}

/** The receiver said that it is gone for good (410). */
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

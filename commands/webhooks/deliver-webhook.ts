import type {
  DeliveryErrorClass,
  FailedEndpoint,
  ShownContent,
  WebhookDeliveryEvent,
} from '../../streams/webhook-delivery/events.ts'
import type { WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import { openLeaseEnd, type Decision } from '../../engine/commands/decision.ts'

type Scheduled = Extract<WebhookDeliveryEvent, { type: 'WebhookDeliveryScheduled' }>['data']

export type Pending = Extract<WebhookDeliveryState, { status: 'pending' }>

/** The data of a delivery's first event. Several commands can begin the stream. */
export type NewDelivery = Omit<Scheduled, 'scheduledAt'>

export interface AttemptDelivery {
  readonly delivery: NewDelivery
  /** The personal content of the message. */
  readonly shown: ShownContent
  readonly now: Date
  readonly leaseUntil: Date
  readonly endedLeases?: readonly string[]
}

/**
 * Begins an attempt. The first attempt also begins the delivery's stream. The append expects no stream, so subscription
 * and event have one delivery. After a crash the attempt runs again under the same number. No attempt begins before it
 * is due, although the list of a worker may be behind and its lease may have ended.
 */
export function attemptDelivery(command: AttemptDelivery, state: WebhookDeliveryState): Decision<WebhookDeliveryEvent> {
  const { delivery, shown, now, leaseUntil, endedLeases } = command
  const attempt = (finished: number): WebhookDeliveryEvent => ({
    type: 'WebhookDeliveryAttempted',
    data: {
      deliveryId: delivery.deliveryId,
      attempt: finished + 1,
      attemptedAt: now.toISOString(),
      leaseUntil: leaseUntil.toISOString(),
      shown,
    },
  })
  if (state.status === 'absent') {
    return [{ type: 'WebhookDeliveryScheduled', data: { ...delivery, scheduledAt: now.toISOString() } }, attempt(0)]
  }
  return !isPending(state) || waitsUntil(state, now, endedLeases) !== null ? [] : [attempt(state.finishedAttempts)]
}

export function isPending(state: WebhookDeliveryState): state is Pending {
  return state.status === 'pending'
}

/**
 * The end of an open attempt's lease, or the time of the next attempt. Null when an attempt may begin now, and when none
 * follows.
 */
export function waitsUntil(state: WebhookDeliveryState, now: Date, endedLeases: readonly string[] = []): Date | null {
  if (!isPending(state)) return null
  const { openLeaseUntil, nextAttemptAt } = state
  const until = openLeaseEnd(openLeaseUntil, now, endedLeases)
  if (until !== null) return until
  const dueAt = nextAttemptAt === null ? now : new Date(nextAttemptAt)
  return dueAt.getTime() > now.getTime() ? dueAt : null
}

export type DeliveryOutcome =
  | { readonly kind: 'delivered'; readonly statusCode: number }
  | {
      readonly kind: 'failed'
      readonly statusCode: number | null
      readonly errorClass: DeliveryErrorClass
      /** Null after the last attempt of the round. */
      readonly nextAttemptAt: Date | null
      readonly endpoint: FailedEndpoint
    }

export interface RecordDelivery {
  readonly attempt: number
  readonly outcome: DeliveryOutcome
  readonly durationMs: number
  readonly now: Date
}

/**
 * Records the outcome of an attempt. A second failure of the same attempt changes nothing. A delivery that was
 * cancelled during the attempt counts as delivered if the receiver accepted it. Otherwise no other attempt follows.
 *
 * A process may stand still with the answer of the receiver until another one has made the attempt again. What the
 * receiver accepted in this round is delivered, however the later attempts ended.
 */
export function recordDelivery(command: RecordDelivery, state: WebhookDeliveryState): Decision<WebhookDeliveryEvent> {
  const { attempt, outcome, durationMs, now } = command
  if (state.status === 'absent' || state.status === 'delivered') return []
  const { deliveryId, subscriptionId, eventId } = state
  const base = { deliveryId, subscriptionId, eventId, attempt, durationMs }
  const at = now.toISOString()
  if (outcome.kind === 'delivered') {
    if (attempt <= state.roundFrom) return []
    return [{ type: 'WebhookDelivered', data: { ...base, statusCode: outcome.statusCode, deliveredAt: at } }]
  }
  if (state.status === 'failed' || state.finishedAttempts >= attempt) return []
  const { statusCode, errorClass, endpoint, nextAttemptAt } = outcome
  const failure = { ...base, statusCode, errorClass, endpoint, failedAt: at }
  if (state.status === 'cancelled')
    return [{ type: 'WebhookDeliveryAttemptFailed', data: { ...failure, nextAttemptAt: null } }]
  return nextAttemptAt === null
    ? [{ type: 'WebhookDeliveryFailed', data: failure }]
    : [{ type: 'WebhookDeliveryAttemptFailed', data: { ...failure, nextAttemptAt: nextAttemptAt.toISOString() } }]
}

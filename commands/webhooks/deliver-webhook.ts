import type { DeliveryErrorClass, FailedEndpoint, WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import type { WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import { openUntil, type Decision } from '../handling/decision.ts'

type Scheduled = Extract<WebhookDeliveryEvent, { type: 'WebhookDeliveryScheduled' }>['data']

type Pending = Extract<WebhookDeliveryState, { status: 'pending' }>

/** What a delivery is, whoever begins its stream. */
export type NewDelivery = Omit<Scheduled, 'scheduledAt'>

export interface AttemptDelivery {
  readonly delivery: NewDelivery
  readonly now: Date
  readonly leaseUntil: Date
}

/**
 * Begins an attempt, and on the first one the delivery itself: NoStream makes one delivery of a subscription and an
 * event. An attempt cut off by a crash is made again under the same number. Before the next one is due none is begun,
 * whatever the list of a worker says: it may be behind, and its lease over.
 */
export function attemptDelivery(command: AttemptDelivery, state: WebhookDeliveryState): Decision<WebhookDeliveryEvent> {
  const { delivery, now, leaseUntil } = command
  const attempt = (finished: number): WebhookDeliveryEvent => ({
    type: 'WebhookDeliveryAttempted',
    data: {
      deliveryId: delivery.deliveryId,
      attempt: finished + 1,
      attemptedAt: now.toISOString(),
      leaseUntil: leaseUntil.toISOString(),
    },
  })
  if (state.status === 'absent') {
    return [{ type: 'WebhookDeliveryScheduled', data: { ...delivery, scheduledAt: now.toISOString() } }, attempt(0)]
  }
  return state.status !== 'pending' || waitsUntil(state, now) !== null ? [] : [attempt(state.finishedAttempts)]
}

/** Until when no attempt of a pending delivery is begun: somebody is at one, or the next one is not due yet. Null when one may be. */
export function waitsUntil({ openLeaseUntil, nextAttemptAt }: Pending, now: Date): Date | null {
  const until = openUntil(openLeaseUntil, now)
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
      /** Null when there is no further one in this round. */
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
 * Records what an attempt came to; an outcome of an attempt that is already settled changes nothing. What was cancelled
 * meanwhile has been delivered all the same when the receiver took it; when not, its attempt is over, and no other follows.
 */
export function recordDelivery(command: RecordDelivery, state: WebhookDeliveryState): Decision<WebhookDeliveryEvent> {
  const { attempt, outcome, durationMs, now } = command
  if (state.status !== 'pending' && state.status !== 'cancelled') return []
  if (state.finishedAttempts >= attempt) return []
  const { deliveryId, subscriptionId, eventId } = state
  const base = { deliveryId, subscriptionId, eventId, attempt, durationMs }
  const at = now.toISOString()
  if (outcome.kind === 'delivered') {
    return [{ type: 'WebhookDelivered', data: { ...base, statusCode: outcome.statusCode, deliveredAt: at } }]
  }
  const { statusCode, errorClass, endpoint, nextAttemptAt } = outcome
  const failure = { ...base, statusCode, errorClass, endpoint, failedAt: at }
  if (state.status === 'cancelled')
    return [{ type: 'WebhookDeliveryAttemptFailed', data: { ...failure, nextAttemptAt: null } }]
  return nextAttemptAt === null
    ? [{ type: 'WebhookDeliveryFailed', data: failure }]
    : [{ type: 'WebhookDeliveryAttemptFailed', data: { ...failure, nextAttemptAt: nextAttemptAt.toISOString() } }]
}

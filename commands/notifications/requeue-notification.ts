import { isNotification, type NotificationState } from '../../streams/notification/aggregate.ts'
import type { NotificationEvent } from '../../streams/notification/events.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import { endCutOffAttempt, type EndCutOffAttempt } from './record-outcome.ts'

/** The job is durable (specification 3.3). An attempt does the same, if it comes first. */
export function queueNotification(
  { now }: { readonly now: Date },
  state: NotificationState,
): Decision<NotificationEvent> {
  if (state.status !== 'pending') return []
  return [queued(state, 'enqueued', now, null)]
}

export interface RetryNotification {
  readonly request: CausingRequest
  readonly now: Date
}

/** Gives a failed notification another round of tries. A repeat of the request changes nothing. */
export function retryNotification(
  { request, now }: RetryNotification,
  state: NotificationState,
): Decision<NotificationEvent, 'not-found' | 'notification-not-failed' | 'idempotency-key-reused'> {
  if (!isNotification(state)) return refused('not-found')
  const earlier = request === null ? undefined : state.retries.get(request.key)
  if (earlier !== undefined) return earlier === request?.fingerprint ? [] : refused('idempotency-key-reused')
  if (state.status !== 'failed') return refused('notification-not-failed')
  return [queued(state, 'retry_requested', now, request)]
}

/** Makes the next try of a queued notification due now, in the same round. One that is due already does not change. */
export function bringNotificationForward(
  { now }: { readonly now: Date },
  state: NotificationState,
): Decision<NotificationEvent> {
  if (state.status !== 'queued' || Date.parse(state.nextAttemptAt) <= now.getTime()) return []
  return [queued(state, 're_enqueued', now, null)]
}

export interface ReEnqueueNotification extends EndCutOffAttempt {
  /** Queued notifications that were due before this instant are stuck. */
  readonly dueBefore: Date
}

/**
 * Makes a stuck notification due now, in the same round. An attempt whose lease has ended ends as unknown. Changes
 * nothing if the notification is not stuck any more.
 */
export function reEnqueueNotification(
  command: ReEnqueueNotification,
  state: NotificationState,
): Decision<NotificationEvent> {
  if (state.status === 'sending') return endCutOffAttempt(command, state)
  if (state.status !== 'queued' || Date.parse(state.nextAttemptAt) > command.dueBefore.getTime()) return []
  return [queued(state, 're_enqueued', command.now, null)]
}

type Queued = Extract<NotificationEvent, { type: 'NotificationQueued' }>

function queued(
  { notificationId, channel }: Pick<Queued['data'], 'notificationId' | 'channel'>,
  reason: Queued['data']['reason'],
  now: Date,
  request: CausingRequest,
): NotificationEvent {
  const at = now.toISOString()
  return {
    type: 'NotificationQueued',
    data: { notificationId, channel, reason, nextAttemptAt: at, request, queuedAt: at },
  }
}

import { openLeaseEnd, type Decision } from '../../engine/commands/decision.ts'
import { isNotification, type NotificationState } from '../../streams/notification/aggregate.ts'
import type { NotificationEvent } from '../../streams/notification/events.ts'

/**
 * Ends a notification about a patient who is erased. While a message is being sent it does nothing: the outcome of the
 * attempt comes first.
 */
export function endWithPatient({ now }: { readonly now: Date }, state: NotificationState): Decision<NotificationEvent> {
  if (!isUnsent(state) || isBeingSent(state, now)) return []
  const { notificationId, templateCode, channel, correlationId, hop } = state
  const ended =
    state.status === 'sending'
      ? { attemptId: state.open.attemptId, attempt: state.open.attempt, response: null, latencyMs: 0 }
      : null
  const data = {
    notificationId,
    templateCode,
    channel,
    correlationId,
    hop,
    ended,
    errorCode: 'template_render_failed' as const,
    errorDetail: 'the variables were erased',
    finalAttempt: false,
    failedAt: now.toISOString(),
  }
  return [{ type: 'NotificationFailed', data }]
}

/** Whether a message about the patient may be leaving at this moment. */
export function isBeingSent(state: NotificationState, now: Date): boolean {
  return state.status === 'sending' && openLeaseEnd(state.open.leaseUntil, now) !== null
}

type Unsent = Extract<NotificationState, { status: 'pending' | 'queued' | 'sending' }>

function isUnsent(state: NotificationState): state is Unsent {
  return isNotification(state) && ['pending', 'queued', 'sending'].includes(state.status)
}

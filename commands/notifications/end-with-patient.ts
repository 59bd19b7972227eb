import { openLeaseEnd, type Decision } from '../../engine/commands/decision.ts'
import type { NotificationState } from '../../streams/notification/aggregate.ts'
import type { NotificationEvent } from '../../streams/notification/events.ts'
import { endCutOffAttempt } from './record-outcome.ts'

/**
 * Ends a notification about a patient who is erased. While a message is being sent it does nothing: the outcome of the
 * attempt comes first. If its worker died, the message may have been sent. It is not sent again.
 */
export function endWithPatient({ now }: { readonly now: Date }, state: NotificationState): Decision<NotificationEvent> {
  if (state.status === 'sending')
    return endCutOffAttempt({ now, retryScheduleMs: [], atLeastOnceCategories: [] }, state)
  if (state.status !== 'pending' && state.status !== 'queued') return []
  const { notificationId, templateCode, channel, correlationId, hop, unknownAttempts } = state
  const mayHaveBeenSent = unknownAttempts.length > 0
  const data = {
    notificationId,
    templateCode,
    channel,
    correlationId,
    hop,
    ended: null,
    errorCode: mayHaveBeenSent ? ('delivery_unknown' as const) : ('template_render_failed' as const),
    errorDetail: mayHaveBeenSent
      ? 'an earlier try may have sent the message, and the variables were erased'
      : 'the variables were erased',
    finalAttempt: false,
    failedAt: now.toISOString(),
  }
  return [{ type: 'NotificationFailed', data }]
}

/** Whether a message about the patient may be leaving at this moment. */
export function isBeingSent(state: NotificationState, now: Date): boolean {
  return state.status === 'sending' && openLeaseEnd(state.open.leaseUntil, now) !== null
}

import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import type { AiReviewState } from '../../streams/ai-review/aggregate.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import { isAwaiting, isStarting } from './next-call.ts'

export interface CancelReview {
  readonly request: CausingRequest
  readonly now: Date
}

/**
 * Ends a review that has not ended. A second cancellation changes nothing. A repeat with the same key always gets the
 * same answer, also after the review was superseded.
 */
export function cancelReview(
  command: CancelReview,
  state: AiReviewState,
): Decision<AiReviewEvent, 'not-found' | 'ai-review-not-cancellable'> {
  if (state.status === 'absent') return refused('not-found')
  if (isStarting(state) || isAwaiting(state)) {
    const { request, now } = command
    const data = { aiReviewId: state.aiReviewId, reason: 'requested' as const, request, cancelledAt: now.toISOString() }
    return [{ type: 'AiReviewCancelled', data }]
  }
  return state.status === 'cancelled' || isSameRequest(command, state) ? [] : refused('ai-review-not-cancellable')
}

/** The patient is erased. An answer that comes later is dropped, as after every cancellation. */
export function cancelWithPatient({ now }: { readonly now: Date }, state: AiReviewState): Decision<AiReviewEvent> {
  if (!isStarting(state) && !isAwaiting(state)) return []
  const { aiReviewId } = state
  const data = { aiReviewId, reason: 'subject_erased' as const, request: null, cancelledAt: now.toISOString() }
  return [{ type: 'AiReviewCancelled', data }]
}

/** True for the keyed request that cancelled the review. */
export function isSameRequest({ request }: Pick<CancelReview, 'request'>, state: AiReviewState): boolean {
  return state.status !== 'absent' && request !== null && state.cancelRequest?.key === request.key
}

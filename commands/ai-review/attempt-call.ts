import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import type { AiReviewState } from '../../streams/ai-review/aggregate.ts'
import { isStillNext, type PlannedCall } from './next-call.ts'

export interface AttemptCall {
  readonly attemptId: string
  readonly next: PlannedCall
  /** The check before the call, and the decision that it found. Polls need none. */
  readonly consent: { readonly checkedAt: Date; readonly decisionId: string | null } | null
  readonly now: Date
  readonly leaseUntil: Date
  readonly endedLeases?: readonly string[]
}

/** Fences the call. A worker does not call if it loses this append, or if the planned call is no longer needed. */
export function attemptCall(command: AttemptCall, state: AiReviewState): AiReviewEvent[] {
  const { next, now, endedLeases } = command
  if (state.status === 'absent' || !isStillNext(next, state, now, endedLeases)) return []
  const imageId = next.call === 'image' ? next.imageId : null
  return [
    {
      type: 'AiReviewCallAttempted',
      data: {
        aiReviewId: state.aiReviewId,
        attemptId: command.attemptId,
        call: next.call,
        imageId,
        consentCheckedAt: command.consent?.checkedAt.toISOString() ?? null,
        consentDecisionId: command.consent?.decisionId ?? null,
        attemptedAt: command.now.toISOString(),
        leaseUntil: command.leaseUntil.toISOString(),
      },
    },
  ]
}

import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import type { AiReviewState } from '../../streams/ai-review/aggregate.ts'
import type { Decision } from '../handling/decision.ts'
import { isStillNext, type PlannedCall } from './next-call.ts'

export interface AttemptCall {
  readonly attemptId: string
  readonly next: PlannedCall
  readonly consentCheckedAt: Date | null
  readonly now: Date
  readonly leaseUntil: Date
}

/** Fences the call: whoever loses this append, or finds that the review needs another call by now, does not call. */
export function attemptCall(command: AttemptCall, state: AiReviewState): Decision<AiReviewEvent> {
  const { next, now } = command
  if (state.status === 'absent' || !isStillNext(next, state, now)) return []
  const imageId = next.call === 'image' ? next.imageId : null
  return [
    {
      type: 'AiReviewCallAttempted',
      data: {
        aiReviewId: state.aiReviewId,
        attemptId: command.attemptId,
        call: next.call,
        imageId,
        consentCheckedAt: command.consentCheckedAt?.toISOString() ?? null,
        attemptedAt: command.now.toISOString(),
        leaseUntil: command.leaseUntil.toISOString(),
      },
    },
  ]
}

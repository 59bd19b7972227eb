import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import type { AiReviewState } from '../../streams/ai-review/state.ts'
import type { Decision } from '../handling/decision.ts'
import { nextCall, type NextCall } from './next-call.ts'

export interface AttemptCall {
  readonly attemptId: string
  readonly next: Extract<NextCall, { kind: 'call' }>
  readonly consentCheckedAt: Date | null
  readonly now: Date
  readonly leaseUntil: Date
}

/** Fences the call: whoever loses this append does not call. */
export function attemptCall(command: AttemptCall, state: AiReviewState): Decision<AiReviewEvent> {
  if (state.status === 'absent') return []
  const wanted = nextCall(state, command.now)
  const { next } = command
  const imageId = next.call === 'image' ? next.imageId : null
  if (wanted.kind !== 'call' || wanted.call !== next.call) return []
  if (wanted.call === 'image' && wanted.imageId !== imageId) return []
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

import type { AiReviewSlotEvent } from '../../streams/ai-review-slot/events.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import type { AiReviewState } from '../../streams/ai-review/state.ts'
import type { Decision } from '../handling/decision.ts'

type Claim = Extract<AiReviewSlotEvent, { type: 'AiReviewSlotClaimed' }>['data']

/** The review's first event says what its slot's claim says, so it can be written again after a crash. */
export function openReview(command: { claim: Claim }, state: AiReviewState): Decision<AiReviewEvent> {
  if (state.status !== 'absent') return []
  const { requestEventId: _, claimedAt, ...request } = command.claim
  return [{ type: 'AiReviewRequested', data: { ...request, requestedAt: claimedAt } }]
}

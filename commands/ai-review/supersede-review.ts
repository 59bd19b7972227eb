import type { SlotClaim } from '../../streams/ai-review-slot/aggregate.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import type { AiReviewState } from '../../streams/ai-review/aggregate.ts'
import type { Decision } from '../handling/decision.ts'

/** Tells a review, whatever its status, that another one holds its slot. Says what the claim says, however often. */
export function supersedeReview({ claim }: { claim: SlotClaim }, state: AiReviewState): Decision<AiReviewEvent> {
  if (state.status === 'absent' || state.status === 'superseded' || claim.supersedes === null) return []
  const { aiReviewId, reason } = claim.supersedes
  const data = { aiReviewId, supersededById: claim.aiReviewId, reason, supersededAt: claim.claimedAt }
  return [{ type: 'AiReviewSuperseded', data }]
}

import type { SlotClaim } from '../../streams/ai-review-slot/aggregate.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import type { AiReviewState } from '../../streams/ai-review/aggregate.ts'
import type { Decision } from '../handling/decision.ts'

/** The review's first event says what its slot's claim says, so it can be written again after a crash. */
export function openReview({ claim }: { claim: SlotClaim }, state: AiReviewState): Decision<AiReviewEvent> {
  if (state.status !== 'absent') return []
  const { aiReviewId, caseId, productId, orgId, patientId, correlationId, images, addresses, claimedAt } = claim
  const data = {
    aiReviewId,
    caseId,
    productId,
    orgId,
    patientId,
    correlationId,
    images,
    addresses,
    requestedAt: claimedAt,
  }
  return [{ type: 'AiReviewRequested', data }]
}

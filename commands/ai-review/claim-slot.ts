import type { AiReviewSlotEvent } from '../../streams/ai-review-slot/events.ts'
import type { AiReviewSlotState, SlotClaim } from '../../streams/ai-review-slot/aggregate.ts'
import type { Decision } from '../handling/decision.ts'

export interface ClaimSlot extends Omit<SlotClaim, 'claimedAt' | 'requestEventId' | 'supersedes' | 'request'> {
  readonly requestEventId: string
  readonly now: Date
}

/** One append checks and claims the slot. A request for a taken slot gets the holder as its answer, recorded once. */
export function claimSlot(command: ClaimSlot, state: AiReviewSlotState): Decision<AiReviewSlotEvent> {
  const { now, ...claim } = command
  const at = now.toISOString()
  if (state.status === 'free') {
    return [{ type: 'AiReviewSlotClaimed', data: { ...claim, supersedes: null, request: null, claimedAt: at } }]
  }
  const { requestEventId, caseId, productId } = command
  if (state.answeredRequests.includes(requestEventId)) return []
  const { aiReviewId } = state.claim
  return [{ type: 'AiReviewRequestAnswered', data: { aiReviewId, caseId, productId, requestEventId, answeredAt: at } }]
}

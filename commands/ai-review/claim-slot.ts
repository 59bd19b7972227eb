import type { AiReviewSlotEvent } from '../../streams/ai-review-slot/events.ts'
import type { AiReviewSlotState } from '../../streams/ai-review-slot/state.ts'
import type { Decision } from '../handling/decision.ts'

type Claim = Extract<AiReviewSlotEvent, { type: 'AiReviewSlotClaimed' }>['data']

export interface ClaimSlot extends Omit<Claim, 'claimedAt' | 'requestEventId'> {
  readonly requestEventId: string
  readonly now: Date
}

/** The check and the claim are one append. A request that finds the slot taken is answered with its holder, once. */
export function claimSlot(command: ClaimSlot, state: AiReviewSlotState): Decision<AiReviewSlotEvent> {
  const { now, ...claim } = command
  if (state.status === 'free') return [{ type: 'AiReviewSlotClaimed', data: { ...claim, claimedAt: now.toISOString() } }]
  const { requestEventId, caseId, productId } = command
  if (state.claim.requestEventId === requestEventId || state.answeredRequests.includes(requestEventId)) return []
  const { aiReviewId } = state.claim
  return [
    {
      type: 'AiReviewRequestAnswered',
      data: { aiReviewId, caseId, productId, requestEventId, answeredAt: now.toISOString() },
    },
  ]
}

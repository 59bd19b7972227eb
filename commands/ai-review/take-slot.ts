import type { AiReviewSlotEvent } from '../../streams/ai-review-slot/events.ts'
import type { AiReviewSlotState, SlotHolder } from '../../streams/ai-review-slot/aggregate.ts'
import type { Decision } from '../../engine/commands/decision.ts'

export interface TakeSlot extends Omit<SlotHolder, 'claimedAt' | 'requestEventId' | 'supersedes' | 'request'> {
  readonly requestEventId: string
  readonly now: Date
}

/** One append checks and claims the slot. A request for a taken slot gets the holder as its answer, recorded once. */
export function takeSlot(command: TakeSlot, state: AiReviewSlotState): Decision<AiReviewSlotEvent> {
  const { now, ...holder } = command
  const at = now.toISOString()
  if (state.status === 'free') {
    return [{ type: 'AiReviewSlotClaimed', data: { ...holder, supersedes: null, request: null, claimedAt: at } }]
  }
  const { requestEventId, caseId, productId } = command
  if (state.answeredRequests.includes(requestEventId)) return []
  const { aiReviewId } = state.holder
  const answer = { aiReviewId, caseId, productId, requestEventId, request: null, answeredAt: at }
  return [{ type: 'AiReviewRequestAnswered', data: answer }]
}

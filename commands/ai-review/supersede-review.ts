import type { AiReviewSlotEvent } from '../../streams/ai-review-slot/events.ts'
import type { AiReviewSlotState, SlotClaim } from '../../streams/ai-review-slot/aggregate.ts'
import type { AiReviewState } from '../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import { refused, type Decision } from '../handling/decision.ts'

export interface SupersedeSlot extends Omit<SlotClaim, 'claimedAt' | 'requestEventId' | 'supersedes'> {
  readonly supersedes: NonNullable<SlotClaim['supersedes']>
  readonly now: Date
}

/**
 * Gives the slot to a new review. Of two requests that supersede the same review, the first wins. The second is
 * refused, because the review of its request is no longer active.
 */
export function supersedeSlot(
  command: SupersedeSlot,
  state: AiReviewSlotState,
): Decision<AiReviewSlotEvent, 'conflict' | 'idempotency-key-reused' | 'ai-review-already-superseded'> {
  if (state.status === 'free') return refused('conflict')
  const { now, ...claim } = command
  const known = keyedClaimOf(command, state)
  if (known !== undefined)
    return known.fingerprint === command.request?.fingerprint ? [] : refused('idempotency-key-reused')
  if (state.claim.aiReviewId !== command.supersedes.aiReviewId) return refused('ai-review-already-superseded')
  return [{ type: 'AiReviewSlotClaimed', data: { ...claim, requestEventId: null, claimedAt: now.toISOString() } }]
}

/** The claim that an earlier request with the same Idempotency-Key made. */
export function keyedClaimOf({ request }: Pick<SlotClaim, 'request'>, state: AiReviewSlotState) {
  return request === null || state.status === 'free' ? undefined : state.keyedClaims.get(request.key)
}

/** Records in a review of any status that another one holds its slot. A repeat changes nothing. */
export function supersedeReview({ claim }: { claim: SlotClaim }, state: AiReviewState): Decision<AiReviewEvent> {
  if (state.status === 'absent' || state.status === 'superseded' || claim.supersedes === null) return []
  const { aiReviewId, reason } = claim.supersedes
  const data = { aiReviewId, supersededById: claim.aiReviewId, reason, supersededAt: claim.claimedAt }
  return [{ type: 'AiReviewSuperseded', data }]
}

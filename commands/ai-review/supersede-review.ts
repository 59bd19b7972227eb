import type { AiReviewSlotEvent } from '../../streams/ai-review-slot/events.ts'
import type { AiReviewSlotState, SlotHolder } from '../../streams/ai-review-slot/aggregate.ts'
import type { AiReviewState } from '../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'

export interface SupersedeSlot extends Omit<SlotHolder, 'claimedAt' | 'requestEventId' | 'supersedes'> {
  readonly supersedes: NonNullable<SlotHolder['supersedes']>
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
  const { now, ...holder } = command
  const known = keyedOutcomeOf(command, state)
  if (known !== undefined)
    return known.fingerprint === command.request?.fingerprint ? [] : refused('idempotency-key-reused')
  if (state.holder.aiReviewId !== command.supersedes.aiReviewId) return refused('ai-review-already-superseded')
  return [{ type: 'AiReviewSlotClaimed', data: { ...holder, requestEventId: null, claimedAt: now.toISOString() } }]
}

/** The claim that an earlier request with the same Idempotency-Key made. */
export function keyedOutcomeOf({ request }: Pick<SlotHolder, 'request'>, state: AiReviewSlotState) {
  return request === null || state.status === 'free' ? undefined : state.keyedOutcomes.get(request.key)
}

/** Records in a review of any status that another one holds its slot. A repeat changes nothing. */
export function supersedeReview({ holder }: { holder: SlotHolder }, state: AiReviewState): Decision<AiReviewEvent> {
  if (state.status === 'absent' || state.status === 'superseded' || holder.supersedes === null) return []
  const { aiReviewId, reason } = holder.supersedes
  const data = { aiReviewId, supersededById: holder.aiReviewId, reason, supersededAt: holder.claimedAt }
  return [{ type: 'AiReviewSuperseded', data }]
}

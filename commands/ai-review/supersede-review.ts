import type { AiReviewSlotEvent } from '../../streams/ai-review-slot/events.ts'
import type { AiReviewSlotState, SlotHolder } from '../../streams/ai-review-slot/aggregate.ts'
import type { AiReviewState } from '../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import { refused, type Decision } from '../handling/decision.ts'

export interface SupersedeSlot extends Omit<SlotHolder, 'claimedAt' | 'requestEventId' | 'supersedes'> {
  readonly supersedes: NonNullable<SlotHolder['supersedes']>
  readonly now: Date
}

/**
 * Gives the slot to a new review in place of the one that holds it. Of two requests that supersede one review the first
 * has it; the second is refused, since it decided on a review that is not the active one any more.
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

/** What the same Idempotency-Key came to before. */
export function keyedOutcomeOf({ request }: Pick<SlotHolder, 'request'>, state: AiReviewSlotState) {
  return request === null || state.status === 'free' ? undefined : state.keyedOutcomes.get(request.key)
}

/** Tells a review, whatever its status, that another one holds its slot. Says what the claim says, however often. */
export function supersedeReview({ holder }: { holder: SlotHolder }, state: AiReviewState): Decision<AiReviewEvent> {
  if (state.status === 'absent' || state.status === 'superseded' || holder.supersedes === null) return []
  const { aiReviewId, reason } = holder.supersedes
  const data = { aiReviewId, supersededById: holder.aiReviewId, reason, supersededAt: holder.claimedAt }
  return [{ type: 'AiReviewSuperseded', data }]
}

import { v5 } from 'uuid'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import { aiReviewSlots, type AiReviewSlotState, type SlotHolder } from '../../streams/ai-review-slot/aggregate.ts'
import type { AiReviewSlotEvent } from '../../streams/ai-review-slot/events.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { openingOf, openSlotHolder } from './open-slot-holder.ts'
import { keyedOutcomeOf } from './supersede-review.ts'

export interface ClaimSlot extends Omit<SlotHolder, 'claimedAt' | 'requestEventId' | 'supersedes'> {
  /** Replaces the review that holds the slot, if there is one. */
  readonly isSuperseding: boolean
  readonly now: Date
}

/**
 * Claims the slot for a client's request, or answers the request with the review that holds the slot. The slot keeps
 * the answer to a keyed request.
 */
export function claimSlot(
  { now, isSuperseding, ...holder }: ClaimSlot,
  state: AiReviewSlotState,
): Decision<AiReviewSlotEvent, 'idempotency-key-reused'> {
  const { caseId, productId, request } = holder
  const known = keyedOutcomeOf(holder, state)
  if (known !== undefined) return known.fingerprint === request?.fingerprint ? [] : refused('idempotency-key-reused')
  const at = now.toISOString()
  if (state.status === 'taken' && !isSuperseding) {
    const { aiReviewId } = state.holder
    const answer = { aiReviewId, caseId, productId, requestEventId: null, request, answeredAt: at }
    return request === null ? [] : [{ type: 'AiReviewRequestAnswered', data: answer }]
  }
  const supersedes = state.status === 'free' ? null : { aiReviewId: state.holder.aiReviewId, reason: null }
  return [{ type: 'AiReviewSlotClaimed', data: { ...holder, requestEventId: null, supersedes, claimedAt: at } }]
}

/**
 * Completes the claim of the review that holds the slot, before another claim replaces it. A crash or a race may have
 * left the review without its first event. That event must not follow the end of the review.
 */
export async function completeClaim(
  deps: Pick<CommandDependencies, 'store' | 'configuration'>,
  { orgId, caseId, productId }: Pick<SlotHolder, 'orgId' | 'caseId' | 'productId'>,
  context: CommandContext,
): Promise<void> {
  const { state } = await deps.store.load(aiReviewSlots.of(orgId, caseId, productId))
  if (state.status === 'free') return
  const commandId = v5(`complete ${state.holder.aiReviewId}`, context.commandId)
  await openSlotHolder(deps, state.holder, openingOf({ ...context, commandId }))
}

import { aiReviewSlots, type SlotClaim } from '../../streams/ai-review-slot/aggregate.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/** The slot that a review was given. */
export interface SlotOfReview {
  readonly orgId: TenantId
  readonly caseId: string
  readonly productId: string
  readonly aiReviewId: string
}

/**
 * The claim of the review that took the slot away from this one, read afresh; null while it holds the slot. The slot
 * knows before the review's own stream does, when a crash came between the two.
 */
export async function successorOf(
  store: Pick<EventStore, 'load'>,
  { orgId, caseId, productId, aiReviewId }: SlotOfReview,
): Promise<SlotClaim | null> {
  const { state } = await store.load(aiReviewSlots.of(orgId, caseId, productId))
  return state.status === 'free' || state.claim.aiReviewId === aiReviewId ? null : state.claim
}

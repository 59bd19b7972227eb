import { aiReviewSlotFold, type SlotClaim } from '../../streams/ai-review-slot/state.ts'
import { aiReviewSlotStream } from '../../streams/ai-review-slot/stream.ts'
import type { EventStore } from '../../streams/store/event-store.ts'

/** The slot that a review was given. */
export interface SlotOfReview {
  readonly orgId: string
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
  const { state } = await store.load(aiReviewSlotFold, aiReviewSlotStream(orgId, caseId, productId), { fresh: true })
  return state.status === 'free' || state.claim.aiReviewId === aiReviewId ? null : state.claim
}

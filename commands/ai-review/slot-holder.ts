import { aiReviewSlots, type SlotHolder } from '../../streams/ai-review-slot/aggregate.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/** A review, with the names of its slot. */
export interface SlotOfReview {
  readonly orgId: TenantId
  readonly caseId: string
  readonly productId: string
  readonly aiReviewId: string
}

/**
 * The claim of the review that holds the slot instead of this one, from a fresh read. Null while this review holds it.
 * After a crash between the two appends, only the slot's stream contains the change.
 */
export async function successorOf(
  store: Pick<EventStore, 'load'>,
  { orgId, caseId, productId, aiReviewId }: SlotOfReview,
): Promise<SlotHolder | null> {
  const { state } = await store.load(aiReviewSlots.of(orgId, caseId, productId))
  return state.status === 'free' || state.holder.aiReviewId === aiReviewId ? null : state.holder
}

import { aiReviewSlots, type SlotHolder } from '../../streams/ai-review-slot/aggregate.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/** A review, with the ids that name its slot. */
export interface SlotOfReview {
  readonly orgId: TenantId
  readonly caseId: string
  readonly productId: string
  readonly aiReviewId: string
}

/**
 * The claim that replaced this review in its slot. Null while this review holds the slot. It is the state of the slot's
 * stream, because a replacement is appended there first: after a crash no other stream may contain it. By `loadFollowed` a
 * replacement of the last moments may be missing: it ends this review by an event of its own, which the next append to
 * the review meets.
 */
export async function successorOf(
  store: Pick<EventStore, 'load' | 'loadFollowed'>,
  { orgId, caseId, productId, aiReviewId }: SlotOfReview,
  read: 'load' | 'loadFollowed' = 'loadFollowed',
): Promise<SlotHolder | null> {
  const { state } = await store[read](aiReviewSlots.of(orgId, caseId, productId))
  return state.status === 'free' || state.holder.aiReviewId === aiReviewId ? null : state.holder
}

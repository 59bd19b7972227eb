import { readForeignRequest, type ForeignReviewRequest } from '../../commands/ai-review/foreign-request.ts'
import { toReviewImages } from '../../commands/ai-review/image-addresses.ts'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import { aiReviewSlots } from '../../streams/ai-review-slot/aggregate.ts'
import type { StartingReview } from '../../streams/ai-review/aggregate.ts'
import type { GivenAddress } from '../../streams/ai-review/review-image.ts'
import { foreignEvents, type ForeignEventState } from '../../streams/foreign-event/aggregate.ts'
import type { EventStore } from '../../engine/store/event-store.ts'

/** The addresses of a review that another service requested. Null for a review of another origin. */
export async function foreignAddresses(
  store: Pick<EventStore, 'load'>,
  { orgId, caseId, productId, images, addresses }: StartingReview,
): Promise<GivenAddress[] | null> {
  if (addresses !== null || images.every(({ objectKey }) => objectKey !== null)) return null
  const { state: slot } = await store.load(aiReviewSlots.of(orgId, caseId, productId))
  if (slot.status === 'free' || slot.holder.requestEventId === null) return null
  const request = requestIn((await store.load(foreignEvents.of(slot.holder.requestEventId))).state)
  return request === undefined ? null : toReviewImages(request.images).addresses
}

/** The request in a foreign event. Undefined after an erasure. */
export function requestIn(state: ForeignEventState): ForeignReviewRequest | undefined {
  if (state.status !== 'received' || state.data === null) return undefined
  const read = readForeignRequest(jsonOf(state.data))
  return 'request' in read ? read.request : undefined
}

import { ownedStream } from '../stream-name.ts'

export const category = 'ai_review_slot'

/** At most one non-superseded review holds the slot of a case and a product (invariant 3). */
export function aiReviewSlotStream(orgId: string, caseId: string, productId: string): string {
  return ownedStream(category, orgId, `${caseId}.${productId}`)
}

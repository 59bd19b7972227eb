import { ownedStream } from '../stream-name.ts'

export const category = 'ai_review'

export function aiReviewStream(orgId: string, aiReviewId: string): string {
  return ownedStream(category, orgId, aiReviewId)
}

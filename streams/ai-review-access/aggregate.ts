import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { aiReviewAccessEvents, type AiReviewAccessEvent } from './events.ts'

export interface AiReviewAccessState {
  readonly reads: number
}

/**
 * Who read the provider's response of a review. A stream of its own: the revision of the review is its ETag, and a read
 * does not change the review.
 */
export const aiReviewAccesses = defineAggregate({
  category: 'ai_review_access',
  id: idOfOrganisation,
  events: aiReviewAccessEvents,
  initialState: { reads: 0 },
  evolve: ({ reads }: AiReviewAccessState, _event: AiReviewAccessEvent): AiReviewAccessState => ({ reads: reads + 1 }),
})

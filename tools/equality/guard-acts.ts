import { aiReviewBudgets } from '../../streams/ai-review-budget/aggregate.ts'
import { aiReviewPlaces } from '../../streams/ai-review-places/aggregate.ts'
import type { DomainEvent } from '../../engine/store/events.ts'
import { budgetFact, placesFact } from '../../test/streams/ai-review-facts.ts'
import type { Act } from './clinical-acts.ts'

/**
 * Limits of the organisation: a review counts, or its count is returned. An open review takes a place or waits for one.
 * A review that has ended releases it.
 */
export const guardReview: Act = (story, random) => {
  if (story.reviews.length === 0) return
  const review = random.pick(story.reviews)
  const { id: aiReviewId, orgId, caseId, productId } = review
  const at = story.instant(random)
  if (random.oneIn(3)) {
    const counted = { aiReviewId, caseId, productId, isClaimed: random.oneIn(2), budgetLeft: random.below(2) }
    const said = random.oneIn(3)
      ? budgetFact('AiReviewCountReturned', { aiReviewId, returnedAt: at })
      : budgetFact('AiReviewCounted', { ...counted, countedAt: at })
    story.append(orgId, aiReviewBudgets.of(orgId, at.slice(0, 10)).stream, said)
    return
  }
  if (review.status === 'claimed' || review.status === 'awaiting') return
  const hasEnded = review.status === 'over' || review.status === 'superseded'
  const said: DomainEvent = hasEnded
    ? placesFact('AiReviewPlaceReleased', { aiReviewId, releasedAt: at })
    : random.pick<DomainEvent>([
        placesFact('AiReviewPlaceAwaited', { aiReviewId, requestedAt: at, awaitedAt: at }),
        placesFact('AiReviewPlaceTaken', { aiReviewId, wasWaiting: random.oneIn(2), takenAt: at }),
      ])
  story.append(orgId, aiReviewPlaces.of(orgId).stream, said)
}

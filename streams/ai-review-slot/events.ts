import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../store/schema.ts'
import { Id, Instant, Nullable } from '../types.ts'
import { ReviewImage } from '../ai-review/review-image.ts'

export const aiReviewSlotEvents = {
  /** Carries everything that the review's first event needs, so that a crash between the two loses nothing. */
  AiReviewSlotClaimed: defineEvent(
    'AiReviewSlotClaimed',
    Type.Object({
      aiReviewId: Id,
      caseId: Id,
      productId: Id,
      orgId: Id,
      patientId: Nullable(Id),
      correlationId: Nullable(Type.String()),
      images: Type.Array(ReviewImage),
      /** The `ai_review.requested` event that asked; null when a client did. */
      requestEventId: Nullable(Id),
      claimedAt: Instant,
    }),
  ),
  /** A request found the slot taken: it is answered with the review that holds it, and nothing is enqueued. */
  AiReviewRequestAnswered: defineEvent(
    'AiReviewRequestAnswered',
    Type.Object({ aiReviewId: Id, caseId: Id, productId: Id, requestEventId: Id, answeredAt: Instant }),
  ),
} as const

export type AiReviewSlotEvent = EventOf<typeof aiReviewSlotEvents>

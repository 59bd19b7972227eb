import { Type, type Static } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant } from '../../engine/aggregates/types.ts'

/** A review that waits for a place. */
const WaitingReview = Type.Object({ aiReviewId: Id, requestedAt: Instant })
export type WaitingReview = Static<typeof WaitingReview>

export const aiReviewPlacesEvents = {
  /** The review may start. */
  AiReviewPlaceTaken: defineEvent(
    'AiReviewPlaceTaken',
    Type.Object({ aiReviewId: Id, wasWaiting: Type.Boolean(), takenAt: Instant }),
  ),
  /** All places were taken. The review waits, after the reviews that were requested before it. */
  AiReviewPlaceAwaited: defineEvent(
    'AiReviewPlaceAwaited',
    Type.Object({ ...WaitingReview.properties, awaitedAt: Instant }),
  ),
  /** The review has ended. It holds no place and waits for none. */
  AiReviewPlaceReleased: defineEvent('AiReviewPlaceReleased', Type.Object({ aiReviewId: Id, releasedAt: Instant })),
  /** The whole state. A load reads no events before it. */
  AiReviewPlacesListed: defineEvent(
    'AiReviewPlacesListed',
    Type.Object({ running: Type.Array(Id), waiting: Type.Array(WaitingReview), listedAt: Instant }),
  ),
} as const

export type AiReviewPlacesEvent = EventOf<typeof aiReviewPlacesEvents>

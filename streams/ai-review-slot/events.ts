import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { CausingRequest, Id, Instant, Nullable } from '../../engine/aggregates/types.ts'
import { reviewRequest } from '../ai-review/review-image.ts'

/** Version 1 of `AiReviewSlotClaimed` covered free slots and causing events only. */
const claimedUpcasters = { 1: (data: unknown) => ({ ...Object(data), supersedes: null, request: null }) }

/** Version 1 of `AiReviewRequestAnswered` covered request events only. */
const answeredUpcasters = { 1: (data: unknown) => ({ ...Object(data), request: null }) }

export const aiReviewSlotEvents = {
  /**
   * Contains the data for the review's first event and for the superseded review's last one. So a crash between the
   * appends loses nothing. A superseding review replaces the holder.
   */
  AiReviewSlotClaimed: defineEvent(
    'AiReviewSlotClaimed',
    Type.Object({
      ...reviewRequest,
      /** The `ai_review.requested` event that caused it; null if a client caused it. */
      requestEventId: Nullable(Id),
      /** The previous holder of the slot. The caller declares that the reason contains no personal data. */
      supersedes: Nullable(Type.Object({ aiReviewId: Id, reason: Nullable(Type.String()) })),
      /** The client's request. Null without a key, and if an event was the cause. */
      request: CausingRequest,
      claimedAt: Instant,
    }),
    { version: 2, upcasters: claimedUpcasters, subject: 'patientId' },
  ),
  /**
   * A request found the slot taken. Its answer is the review that holds the slot; nothing is enqueued. A client's request
   * is recorded if it has a key, so a repeat gets the same answer.
   */
  AiReviewRequestAnswered: defineEvent(
    'AiReviewRequestAnswered',
    Type.Object({
      aiReviewId: Id,
      caseId: Id,
      productId: Id,
      requestEventId: Nullable(Id),
      request: CausingRequest,
      answeredAt: Instant,
    }),
    { version: 2, upcasters: answeredUpcasters },
  ),
} as const

export type AiReviewSlotEvent = EventOf<typeof aiReviewSlotEvents>

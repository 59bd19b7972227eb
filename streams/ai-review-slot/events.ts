import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../store/schema.ts'
import { CausingRequest, Id, Instant, Nullable, OrgId } from '../types.ts'
import { GivenAddresses, ReviewImage } from '../ai-review/review-image.ts'

/** Version 1 of `AiReviewSlotClaimed` knew first claims of events only. */
const claimedUpcasters = { 1: (data: unknown) => ({ ...Object(data), supersedes: null, request: null }) }

export const aiReviewSlotEvents = {
  /**
   * Carries everything that the review's first event needs, and what the superseded one is told, so that a crash
   * between the appends loses nothing. A claim that supersedes replaces the holder.
   */
  AiReviewSlotClaimed: defineEvent(
    'AiReviewSlotClaimed',
    Type.Object({
      aiReviewId: Id,
      caseId: Id,
      productId: Id,
      orgId: OrgId,
      patientId: Nullable(Id),
      correlationId: Nullable(Type.String()),
      images: Type.Array(ReviewImage),
      addresses: GivenAddresses,
      /** The `ai_review.requested` event that asked; null when a client did. */
      requestEventId: Nullable(Id),
      /** The review that held the slot before; the reason is declared free of personal data. */
      supersedes: Nullable(Type.Object({ aiReviewId: Id, reason: Nullable(Type.String()) })),
      /** Of the client's request; null without a key, and when an event asked. */
      request: CausingRequest,
      claimedAt: Instant,
    }),
    { version: 2, upcasters: claimedUpcasters, subject: 'patientId' },
  ),
  /** A request found the slot taken: it is answered with the review that holds it, and nothing is enqueued. */
  AiReviewRequestAnswered: defineEvent(
    'AiReviewRequestAnswered',
    Type.Object({ aiReviewId: Id, caseId: Id, productId: Id, requestEventId: Id, answeredAt: Instant }),
  ),
} as const

export type AiReviewSlotEvent = EventOf<typeof aiReviewSlotEvents>

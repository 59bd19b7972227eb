import { Type } from 'typebox'
import { CancellationReason, Classification, ImageQuality, Lesion } from '../ai-review/events.ts'
import { RequestedImage } from '../ai-review/review-image.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'
import { defineChannelStream, publicData } from '../../engine/aggregates/channel-stream.ts'

const review = { orgId: OrgId, aiReviewId: Id, caseId: Id, productId: Id, correlationId: Nullable(Type.String()) }

/** Stream of the public AI-review events (specification sections 4.5 and 6). */
export const aiReviewChannelStream = defineChannelStream({
  name: 'ai_review.events',
  organisationMember: 'orgId',
  events: {
    requested: defineEvent(
      'ai_review.requested',
      publicData({
        orgId: OrgId,
        caseId: Id,
        productId: Id,
        correlationId: Nullable(Type.String()),
        requestedAt: Instant,
        images: Type.Array(RequestedImage),
        /** Beyond the specification. Requests of other services lack it. */
        patientId: Type.Optional(Id),
      }),
    ),
    started: defineEvent('ai_review.started', publicData({ ...review, startedAt: Instant })),
    completed: defineEvent(
      'ai_review.completed',
      publicData({
        ...review,
        assessedByProviderVersion: Nullable(Type.String()),
        reportDate: Nullable(Instant),
        analysisResult: Type.String(),
        imageQuality: Type.Array(ImageQuality),
        lesions: Type.Array(Lesion),
        /** Additive: the name of the provider, for `result.ai_provider`. */
        aiProvider: Type.String(),
      }),
    ),
    failed: defineEvent(
      'ai_review.failed',
      publicData({
        ...review,
        errorCode: Type.String(),
        errorClassification: Classification,
        errorMessage: Type.String(),
        retriable: Type.Boolean(),
        /** Beyond the specification. True if an image could not be fetched and an address of the review had expired. */
        addressesExpired: Type.Optional(Type.Boolean()),
      }),
    ),
    /** Beyond the specification. */
    cancelled: defineEvent(
      'ai_review.cancelled',
      publicData({
        ...review,
        reason: CancellationReason,
        cancelledAt: Instant,
      }),
    ),
    superseded: defineEvent(
      'ai_review.superseded',
      publicData({
        orgId: OrgId,
        oldAiReviewId: Id,
        newAiReviewId: Id,
        caseId: Id,
        productId: Id,
        supersededAt: Instant,
        reason: Type.Optional(Type.String()),
      }),
    ),
  },
})

export type AiReviewChannelEvent = EventOf<typeof aiReviewChannelStream.events>

import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { aiReviewFailures } from '../../contracts/ai-review/record.ts'
import { aiReviews, type AiReviewState, type Review } from '../../streams/ai-review/aggregate.ts'
import type { GivenAddress } from '../../streams/ai-review/review-image.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { aiReviewChannelStream } from '../../streams/channels/ai-review.ts'
import { hasEnded } from '../../commands/ai-review/next-call.ts'
import { defineChannel } from '../../engine/relay/channel.ts'

export interface AiReviewChannelDependencies {
  readonly objects: Pick<ObjectStore, 'address'>
  readonly configuration: Pick<Configuration, 'readUrlTtlSeconds'>
}

/** Requests of the clinical service and their results (specification 4.5 and section 6). */
export const aiReviewChannel = defineChannel({
  stream: aiReviewChannelStream,
  sources: [assessments, aiReviews],
  translate: {
    /** Its addresses have no signature: the channel is stored for long and has many readers. */
    AssessmentReviewRequested: (
      { data, metadata },
      publish,
      _,
      { objects, configuration }: AiReviewChannelDependencies,
    ) => {
      const { caseId, productId, patientId, requestedAt } = data
      const expiry = new Date(Date.parse(requestedAt) + configuration.readUrlTtlSeconds * 1000)
      const presignedUrlExpiresAt = expiry.toISOString()
      const images = data.images.map((image) => ({
        ...image,
        presignedUrl: objects.address(image.objectKey),
        presignedUrlExpiresAt,
      }))
      const correlationId = metadata.$correlationId
      const request = { caseId, productId, correlationId, requestedAt, images, patientId }
      return [publish('ai_review.requested', requestedAt, request)]
    },

    AiReviewStarted: async ({ data: { startedAt } }, publish, state) => {
      const review = requestOf(await state())
      return [publish('ai_review.started', startedAt, { ...review, startedAt })]
    },

    AiReviewCompleted: async ({ data }, publish, state) => {
      const review = requestOf(await state())
      return [
        publish('ai_review.completed', data.completedAt, {
          ...review,
          assessedByProviderVersion: data.providerVersion,
          reportDate: data.reportDate,
          analysisResult: data.analysisResult,
          imageQuality: data.imageQuality,
          lesions: data.lesions,
          aiProvider: data.aiProvider,
        }),
      ]
    },

    AiReviewFailed: async ({ data: { classification, failedAt } }, publish, state) => {
      const isAboutAddresses = classification === 'image_fetch_failed'
      const review = await state((known) => !isAboutAddresses || hasAddresses(known))
      const { message, retriable } = aiReviewFailures[classification]
      return [
        publish('ai_review.failed', failedAt, {
          ...requestOf(review),
          errorCode: classification,
          errorClassification: classification,
          errorMessage: message,
          retriable,
          addressesExpired: isAboutAddresses && hadExpired(review.addresses, failedAt),
        }),
      ]
    },

    AiReviewCancelled: async ({ data }, publish, state) => {
      const review = requestOf(await state())
      const { reason, cancelledAt } = data
      return [publish('ai_review.cancelled', cancelledAt, { ...review, reason, cancelledAt })]
    },

    AiReviewSuperseded: async ({ data }, publish, state) => {
      const { caseId, productId } = await state()
      const { aiReviewId: oldAiReviewId, supersededById: newAiReviewId, supersededAt } = data
      const reason = data.reason === null ? {} : { reason: data.reason }
      const superseded = { oldAiReviewId, newAiReviewId, caseId, productId, supersededAt, ...reason }
      return [publish('ai_review.superseded', supersededAt, superseded)]
    },
  },
})

/** The members that every event of a review needs. The first event contains them, so every state does. */
function requestOf({ aiReviewId, caseId, productId, correlationId }: Review) {
  return { aiReviewId, caseId, productId, correlationId }
}

/**
 * Whether the state has all addresses that its review got. Those of another service come with the start of the review,
 * so a cached state from before it lacks them.
 */
function hasAddresses(review: Exclude<AiReviewState, { status: 'absent' }>): boolean {
  return review.addresses !== null || hasEnded(review)
}

/** The object store has its own clock. An address that it refuses a little early counts as expired. */
const storeClockAheadMs = 5_000

function hadExpired(addresses: readonly GivenAddress[] | null, at: string): boolean {
  const byTheStore = Date.parse(at) + storeClockAheadMs
  return (addresses ?? []).some(({ presignedUrlExpiresAt }) => Date.parse(presignedUrlExpiresAt) <= byTheStore)
}

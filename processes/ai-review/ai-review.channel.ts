import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { aiReviewFailures } from '../../contracts/ai-review/record.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import type { GivenAddress } from '../../streams/ai-review/review-image.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { aiReviewChannelStream } from '../../streams/channels/ai-review.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { defineChannel } from '../../engine/relay/channel.ts'

export interface AiReviewChannelDependencies {
  readonly store: Pick<EventStore, 'loadCached'>
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

    AiReviewStarted: async ({ stream, data: { startedAt } }, publish, deps) => {
      const { review } = await requestOf(stream, deps)
      return [publish('ai_review.started', startedAt, { ...review, startedAt })]
    },

    AiReviewCompleted: async ({ stream, data }, publish, deps) => {
      const { review } = await requestOf(stream, deps)
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

    AiReviewFailed: async ({ stream, data: { classification, failedAt } }, publish, deps) => {
      const { review, addresses } = await requestOf(stream, deps)
      const { message, retriable } = aiReviewFailures[classification]
      return [
        publish('ai_review.failed', failedAt, {
          ...review,
          errorCode: classification,
          errorClassification: classification,
          errorMessage: message,
          retriable,
          addressesExpired: classification === 'image_fetch_failed' && hadExpired(addresses, failedAt),
        }),
      ]
    },

    AiReviewCancelled: async ({ stream, data }, publish, deps) => {
      const { review } = await requestOf(stream, deps)
      const { reason, cancelledAt } = data
      return [publish('ai_review.cancelled', cancelledAt, { ...review, reason, cancelledAt })]
    },

    AiReviewSuperseded: async ({ stream, data }, publish, deps) => {
      const { caseId, productId } = (await requestOf(stream, deps)).review
      const { aiReviewId: oldAiReviewId, supersededById: newAiReviewId, supersededAt } = data
      const reason = data.reason === null ? {} : { reason: data.reason }
      const superseded = { oldAiReviewId, newAiReviewId, caseId, productId, supersededAt, ...reason }
      return [publish('ai_review.superseded', supersededAt, superseded)]
    },
  },
})

/** The members that every event of a review needs. The first event contains them, so every state does. */
async function requestOf(stream: string, { store }: AiReviewChannelDependencies) {
  const { state } = await store.loadCached(aiReviews.at(stream))
  if (state.status === 'absent') throw new Error('an event of a review that was never requested')
  const { aiReviewId, caseId, productId, correlationId, addresses } = state
  return { review: { aiReviewId, caseId, productId, correlationId }, addresses }
}

/** The object store has its own clock. An address that it refuses a little early counts as expired. */
const storeClockAheadMs = 5_000

function hadExpired(addresses: readonly GivenAddress[] | null, at: string): boolean {
  const byTheStore = Date.parse(at) + storeClockAheadMs
  return (addresses ?? []).some(({ presignedUrlExpiresAt }) => Date.parse(presignedUrlExpiresAt) <= byTheStore)
}

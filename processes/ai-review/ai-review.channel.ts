import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { aiReviewFailures } from '../../contracts/ai-review/record.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { aiReviewChannel } from '../../streams/channels/ai-review.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import type { DomainEvent, RecordedEvent } from '../../streams/store/events.ts'
import type { ChannelDefinition, PublicEvent } from '../relay/channel.ts'

/** The object store goes by its own clock: what it refuses a little early had expired all the same. */
const storeClockAheadMs = 5_000

export interface AiReviewChannelDependencies {
  readonly store: Pick<EventStore, 'loadCached'>
  readonly objects: Pick<ObjectStore, 'address'>
  readonly configuration: Pick<Configuration, 'readUrlTtlSeconds'>
}

type DataOf<Event extends DomainEvent, Type extends Event['type']> = Extract<Event, { type: Type }>['data']

/** Requests of the clinical service and what became of them (specification 4.5 and section 6). */
export const aiReviewEventsChannel: ChannelDefinition<AiReviewChannelDependencies> = {
  stream: aiReviewChannel,
  sources: [`${assessments.category}-`, `${aiReviews.category}-`],
  organisationMember: 'orgId',
  translate: {
    AssessmentReviewRequested: (event, deps) => requested(event, deps),

    AiReviewStarted: async (event, deps) => {
      const { startedAt } = event.data as DataOf<AiReviewEvent, 'AiReviewStarted'>
      return [
        { type: 'ai_review.started', occurredAt: startedAt, data: { ...(await reviewOf(event, deps)), startedAt } },
      ]
    },

    AiReviewCompleted: async (event, deps) => {
      const data = event.data as DataOf<AiReviewEvent, 'AiReviewCompleted'>
      const { aiProvider, providerVersion, reportDate, analysisResult, imageQuality, lesions, completedAt } = data
      const result = {
        assessedByProviderVersion: providerVersion,
        reportDate,
        analysisResult,
        imageQuality,
        lesions,
        aiProvider,
      }
      return [
        { type: 'ai_review.completed', occurredAt: completedAt, data: { ...(await reviewOf(event, deps)), ...result } },
      ]
    },

    AiReviewFailed: async (event, deps) => {
      const { classification, failedAt } = event.data as DataOf<AiReviewEvent, 'AiReviewFailed'>
      const { message, retriable } = aiReviewFailures[classification]
      const error = { errorCode: classification, errorClassification: classification, errorMessage: message, retriable }
      const { addresses, ...review } = await requestOf(event, deps)
      const byTheStore = Date.parse(failedAt) + storeClockAheadMs
      const hasExpired = (addresses ?? []).some(
        ({ presignedUrlExpiresAt }) => Date.parse(presignedUrlExpiresAt) <= byTheStore,
      )
      const addressesExpired = classification === 'image_fetch_failed' && hasExpired
      return [{ type: 'ai_review.failed', occurredAt: failedAt, data: { ...review, ...error, addressesExpired } }]
    },

    AiReviewCancelled: async (event, deps) => {
      const { reason, cancelledAt } = event.data as DataOf<AiReviewEvent, 'AiReviewCancelled'>
      return [
        {
          type: 'ai_review.cancelled',
          occurredAt: cancelledAt,
          data: { ...(await reviewOf(event, deps)), reason, cancelledAt },
        },
      ]
    },

    AiReviewSuperseded: async (event, deps) => {
      const data = event.data as DataOf<AiReviewEvent, 'AiReviewSuperseded'>
      const { caseId, productId } = await reviewOf(event, deps)
      const { aiReviewId: oldAiReviewId, supersededById: newAiReviewId, supersededAt } = data
      const reason = data.reason === null ? {} : { reason: data.reason }
      const superseded = { oldAiReviewId, newAiReviewId, caseId, productId, supersededAt, ...reason }
      return [{ type: 'ai_review.superseded', occurredAt: supersededAt, data: superseded }]
    },
  },
}

/** Names objects by addresses without a signature: the channel is kept for long and has many readers. */
function requested(event: RecordedEvent, { objects, configuration }: AiReviewChannelDependencies): PublicEvent[] {
  const data = event.data as DataOf<AssessmentEvent, 'AssessmentReviewRequested'>
  const { caseId, productId, patientId, requestedAt } = data
  const presignedUrlExpiresAt = new Date(Date.parse(requestedAt) + configuration.readUrlTtlSeconds * 1000).toISOString()
  const images = data.images.map((image) => ({
    ...image,
    presignedUrl: objects.address(image.objectKey),
    presignedUrlExpiresAt,
  }))
  const correlationId = event.metadata.$correlationId
  return [
    {
      type: 'ai_review.requested',
      occurredAt: requestedAt,
      data: { caseId, productId, correlationId, requestedAt, images, patientId },
    },
  ]
}

/** What every event of a review names of it. */
async function reviewOf(event: RecordedEvent, deps: AiReviewChannelDependencies) {
  const { addresses: _, ...review } = await requestOf(event, deps)
  return review
}

/** The review's first event says it, so any state of the stream does. */
async function requestOf({ stream }: RecordedEvent, { store }: AiReviewChannelDependencies) {
  const { state } = await store.loadCached(aiReviews.at(stream))
  if (state.status === 'absent') throw new Error('an event of a review that was never requested')
  const { aiReviewId, caseId, productId, orgId, correlationId, addresses } = state
  return { aiReviewId, caseId, productId, orgId, correlationId, addresses }
}

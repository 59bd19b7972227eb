import type { AiReviewEvent, ImageQuality } from '../../streams/ai-review/events.ts'
import { defineProjector, insert, patch, patchWhere } from '../runtime/projector.ts'
import { aiReviewImages, aiReviewLesions, aiReviewResults, aiReviews } from './table.ts'

export const aiReviewsProjector = defineProjector<AiReviewEvent>()({
  name: 'ai_reviews',
  version: 4,
  tables: [aiReviews, aiReviewImages, aiReviewResults, aiReviewLesions],
  handlers: {
    AiReviewRequested: ({ data, revision }) => [
      insert(aiReviews, {
        ai_review_id: data.aiReviewId,
        org_id: data.orgId,
        case_id: data.caseId,
        product_id: data.productId,
        patient_id: data.patientId,
        status: 'pending',
        attempt_count: 0,
        correlation_id: data.correlationId,
        created_at: data.requestedAt,
        updated_at: data.requestedAt,
        stream_revision: revision,
      }),
      ...data.images.map((image, ordinal) =>
        insert(aiReviewImages, {
          ai_review_id: data.aiReviewId,
          clinical_image_id: image.imageId,
          ordinal,
          image_type: image.imageType,
          created_at: data.requestedAt,
        }),
      ),
    ],
    AiReviewStarted: ({ data, revision }) => [
      patch(
        aiReviews,
        { ai_review_id: data.aiReviewId },
        { patient_id: data.patientId, updated_at: data.startedAt, stream_revision: revision },
      ),
    ],
    AiReviewCallAttempted: ({ data, revision }) => [
      patch(aiReviews, { ai_review_id: data.aiReviewId }, { updated_at: data.attemptedAt, stream_revision: revision }),
    ],
    AiReviewProviderCaseCreated: ({ data, revision }) => [
      patch(
        aiReviews,
        { ai_review_id: data.aiReviewId },
        {
          status: 'in_progress',
          provider_case_id: data.providerCaseId,
          updated_at: data.createdAt,
          stream_revision: revision,
        },
      ),
      // Images sent to an abandoned provider case count no more (T29).
      patchWhere(
        aiReviewImages,
        { ai_review_id: data.aiReviewId },
        { provider_image_id: null, provider_image_hash: null },
      ),
    ],
    AiReviewImageSent: ({ data, revision }) => [
      patch(
        aiReviewImages,
        { ai_review_id: data.aiReviewId, clinical_image_id: data.imageId },
        { provider_image_id: data.providerImageId, provider_image_hash: data.providerImageHash },
      ),
      patch(aiReviews, { ai_review_id: data.aiReviewId }, { updated_at: data.sentAt, stream_revision: revision }),
    ],
    AiReviewProcessingAccepted: ({ data, revision }) => [
      patch(
        aiReviews,
        { ai_review_id: data.aiReviewId },
        {
          status: 'awaiting_result',
          provider_checksum: data.providerChecksum,
          updated_at: data.acceptedAt,
          stream_revision: revision,
        },
      ),
    ],
    AiReviewStartDeferred: ({ data, revision }) => [
      patch(aiReviews, { ai_review_id: data.aiReviewId }, { updated_at: data.deferredAt, stream_revision: revision }),
    ],
    AiReviewCallPostponed: ({ data, revision }) => [
      patch(aiReviews, { ai_review_id: data.aiReviewId }, { updated_at: data.postponedAt, stream_revision: revision }),
    ],
    AiReviewPollDeferred: ({ data, revision }) => [
      patch(
        aiReviews,
        { ai_review_id: data.aiReviewId },
        { attempt_count: data.attemptCount, updated_at: data.polledAt, stream_revision: revision },
      ),
    ],
    AiReviewCompleted: ({ data, revision }) => [
      patch(
        aiReviews,
        { ai_review_id: data.aiReviewId },
        {
          status: 'completed',
          attempt_count: data.attemptCount,
          provider_version: data.providerVersion,
          analysis_result: data.analysisResult,
          updated_at: data.completedAt,
          completed_at: data.completedAt,
          stream_revision: revision,
        },
      ),
      insert(aiReviewResults, {
        ai_review_id: data.aiReviewId,
        analysis_status: data.analysisStatus,
        lesion_count: data.lesionCount,
        processing_type: data.processingType,
        sensitivity_set: data.sensitivitySet,
        report_date: data.reportDate,
        created_at: data.completedAt,
      }),
      ...data.lesions.map((lesion) =>
        insert(aiReviewLesions, {
          ai_review_id: data.aiReviewId,
          lesion_number: lesion.lesionNumber,
          lesion,
          created_at: data.completedAt,
        }),
      ),
      ...qualityPatches(data.aiReviewId, data.imageQuality),
    ],
    AiReviewFailed: ({ data, revision }) => [
      patch(
        aiReviews,
        { ai_review_id: data.aiReviewId },
        {
          status: 'failed',
          attempt_count: data.attemptCount,
          error_classification: data.classification,
          upstream_status: data.upstreamStatus,
          provider_version: data.providerOutcome?.providerVersion ?? null,
          analysis_result: data.providerOutcome?.analysisResult ?? null,
          updated_at: data.failedAt,
          completed_at: data.failedAt,
          stream_revision: revision,
        },
      ),
      ...qualityPatches(data.aiReviewId, data.providerOutcome?.imageQuality ?? []),
    ],
    AiReviewConsentConfirmed: ({ data, revision }) => [
      patch(aiReviews, { ai_review_id: data.aiReviewId }, { stream_revision: revision }),
    ],
    AiReviewCancelled: ({ data, revision }) => [
      patch(
        aiReviews,
        { ai_review_id: data.aiReviewId },
        { status: 'cancelled', cancel_reason: data.reason, updated_at: data.cancelledAt, stream_revision: revision },
      ),
    ],
    AiReviewSuperseded: ({ data, revision }) => [
      patch(
        aiReviews,
        { ai_review_id: data.aiReviewId },
        {
          status: 'superseded',
          superseded_by_id: data.supersededById,
          superseded_at: data.supersededAt,
          updated_at: data.supersededAt,
          stream_revision: revision,
        },
      ),
    ],
  },
})

function qualityPatches(aiReviewId: string, imageQuality: readonly ImageQuality[]) {
  return imageQuality.map(({ imageId, quality }) =>
    patch(aiReviewImages, { ai_review_id: aiReviewId, clinical_image_id: imageId }, { image_quality: quality }),
  )
}

import {
  AiReviewStatus,
  CancellationReason,
  Classification,
  Lesion,
  type AiReviewEvent,
  type ImageQuality,
} from '../../streams/ai-review/events.ts'
import { ImageType } from '../../streams/types.ts'
import { defineProjector, defineTable, type RowChange } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, patchRows, type ChangeOf } from '../../engine/projections/row-changes.ts'

export const aiReviewsTable = defineTable({
  name: 'ai_reviews',
  columns: {
    ai_review_id: 'uuid',
    org_id: 'uuid',
    case_id: 'uuid',
    product_id: 'uuid',
    patient_id: { type: 'uuid', nullable: true },
    status: { type: 'text', values: AiReviewStatus.enum },
    attempt_count: 'integer',
    correlation_id: { type: 'text', nullable: true },
    provider_case_id: { type: 'integer', nullable: true },
    provider_checksum: { type: 'text', nullable: true },
    provider_version: { type: 'text', nullable: true },
    /** Of a processed case, for completed and failed reviews. */
    analysis_result: { type: 'text', nullable: true },
    error_classification: { type: 'text', values: Classification.enum, nullable: true },
    upstream_status: { type: 'integer', nullable: true },
    /** Tries that failed since the last success, and the newest of them. */
    failures: 'integer',
    failing_since: { type: 'timestamptz', nullable: true },
    last_failed_at: { type: 'timestamptz', nullable: true },
    failure_code: { type: 'text', nullable: true },
    /** While its status is `failed` because of a system outside. */
    failed_at: { type: 'timestamptz', nullable: true },
    cancel_reason: { type: 'text', values: CancellationReason.enum, nullable: true },
    superseded_by_id: { type: 'uuid', nullable: true },
    superseded_at: { type: 'timestamptz', nullable: true },
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    completed_at: { type: 'timestamptz', nullable: true },
    stream_revision: 'bigint',
  },
  primaryKey: ['ai_review_id'],
  indexes: [
    { columns: ['org_id', 'created_at', 'ai_review_id'] },
    { columns: ['case_id'] },
    { columns: ['failed_at'], isSparse: true },
  ],
})

/** Contains no addresses of images, because an address gives access. */
export const aiReviewImagesTable = defineTable({
  name: 'ai_review_images',
  columns: {
    ai_review_id: 'uuid',
    clinical_image_id: 'uuid',
    /** Place in the request, from 0. */
    ordinal: 'integer',
    image_type: { type: 'text', values: ImageType.enum },
    provider_image_id: { type: 'integer', nullable: true },
    provider_image_hash: { type: 'text', nullable: true },
    image_quality: { type: 'text', nullable: true },
    created_at: 'timestamptz',
  },
  primaryKey: ['ai_review_id', 'clinical_image_id'],
})

export const aiReviewResultsTable = defineTable({
  name: 'ai_review_results',
  columns: {
    ai_review_id: 'uuid',
    analysis_status: { type: 'text', nullable: true },
    lesion_count: 'integer',
    processing_type: { type: 'text', nullable: true },
    sensitivity_set: { type: 'text', nullable: true },
    report_date: { type: 'timestamptz', nullable: true },
    created_at: 'timestamptz',
  },
  primaryKey: ['ai_review_id'],
})

export const aiReviewLesionsTable = defineTable({
  name: 'ai_review_lesions',
  columns: {
    ai_review_id: 'uuid',
    lesion_number: 'integer',
    lesion: { type: 'jsonb', schema: Lesion },
    created_at: 'timestamptz',
  },
  primaryKey: ['ai_review_id', 'lesion_number'],
})

export const aiReviewsProjector = defineProjector<AiReviewEvent>()({
  name: 'ai_reviews',
  version: 5,
  tables: [aiReviewsTable, aiReviewImagesTable, aiReviewResultsTable, aiReviewLesionsTable],
  handlers: {
    AiReviewRequested: ({ data, revision }) => [
      insertRow(aiReviewsTable, {
        ...data,
        status: 'pending',
        attemptCount: 0,
        failures: 0,
        createdAt: data.requestedAt,
        updatedAt: data.requestedAt,
        streamRevision: revision,
      }),
      ...data.images.map(({ imageId, imageType }, ordinal) =>
        insertRow(aiReviewImagesTable, {
          aiReviewId: data.aiReviewId,
          clinicalImageId: imageId,
          ordinal,
          imageType,
          createdAt: data.requestedAt,
        }),
      ),
    ],
    AiReviewStarted: (event) => [changed(event, event.data.startedAt, { patientId: event.data.patientId })],
    AiReviewCallAttempted: (event) => [changed(event, event.data.attemptedAt)],
    AiReviewProviderCaseCreated: (event) => [
      changed(event, event.data.createdAt, {
        status: 'in_progress',
        providerCaseId: event.data.providerCaseId,
        ...succeeded,
      }),
      // Images that were sent to an abandoned provider case no longer count.
      patchRows(
        aiReviewImagesTable,
        { aiReviewId: event.data.aiReviewId },
        { providerImageId: null, providerImageHash: null },
      ),
    ],
    AiReviewImageSent: (event) => [
      patchRow(aiReviewImagesTable, { ...event.data, clinicalImageId: event.data.imageId }),
      changed(event, event.data.sentAt, succeeded),
    ],
    AiReviewProcessingAccepted: (event) => [
      changed(event, event.data.acceptedAt, {
        status: 'awaiting_result',
        providerChecksum: event.data.providerChecksum,
        ...succeeded,
      }),
    ],
    AiReviewStartDeferred: (event) => {
      const { retry, upstreamStatus, classification, deferredAt } = event.data
      return [
        changed(event, deferredAt, {
          ...failedTry(retry, deferredAt, upstreamStatus, classification),
          ...(retry === 1 ? { failingSince: deferredAt } : {}),
        }),
      ]
    },
    AiReviewCallPostponed: (event) => [changed(event, event.data.postponedAt)],
    AiReviewPollDeferred: (event) => {
      const { attemptCount, upstreamStatus, polledAt, answered } = event.data
      // Without an answer, or refused. A result that is not ready yet is no failure.
      const isFailed = answered !== null && (answered.status === null || answered.status >= 400)
      const outcome = isFailed ? failedTry(attemptCount, polledAt, upstreamStatus, null) : succeeded
      return [changed(event, polledAt, { attemptCount, ...outcome })]
    },
    AiReviewCompleted: (event) => {
      const { aiReviewId, attemptCount, providerVersion, analysisResult, completedAt } = event.data
      return [
        changed(event, completedAt, {
          status: 'completed',
          attemptCount,
          providerVersion,
          analysisResult,
          completedAt,
          ...succeeded,
        }),
        insertRow(aiReviewResultsTable, { ...event.data, createdAt: completedAt }),
        ...event.data.lesions.map((lesion) =>
          insertRow(aiReviewLesionsTable, {
            aiReviewId,
            lesionNumber: lesion.lesionNumber,
            lesion,
            createdAt: completedAt,
          }),
        ),
        ...qualityPatches(aiReviewId, event.data.imageQuality),
      ]
    },
    AiReviewFailed: (event) => {
      const { aiReviewId, attemptCount, classification, upstreamStatus, providerOutcome, failedAt } = event.data
      return [
        changed(event, failedAt, {
          status: 'failed',
          attemptCount,
          errorClassification: classification,
          ...failedTry(Math.max(1, attemptCount), failedAt, upstreamStatus, classification),
          failedAt: ofOutside.includes(classification) ? failedAt : null,
          upstreamStatus,
          providerVersion: providerOutcome?.providerVersion ?? null,
          analysisResult: providerOutcome?.analysisResult ?? null,
          completedAt: failedAt,
        }),
        ...qualityPatches(aiReviewId, providerOutcome?.imageQuality ?? []),
      ]
    },
    AiReviewConsentConfirmed: ({ data: { aiReviewId }, revision }) => [
      patchRow(aiReviewsTable, { aiReviewId, streamRevision: revision }),
    ],
    AiReviewCancelled: (event) => [
      changed(event, event.data.cancelledAt, { status: 'cancelled', cancelReason: event.data.reason }),
    ],
    AiReviewSuperseded: (event) => {
      const { supersededById, supersededAt } = event.data
      return [changed(event, supersededAt, { status: 'superseded', supersededById, supersededAt, failedAt: null })]
    },
  },
})

/** Operators can mend these. The others are about the request: its consent, its budget, what the provider found in its images. */
const ofOutside: readonly Classification[] = [
  'provider_auth_failed',
  'provider_upstream_transient',
  'provider_client_error',
  'provider_result_timeout',
  'image_fetch_failed',
  'image_host_unavailable',
  'consent_check_unavailable',
  'case_lookup_unavailable',
]

const succeeded = { failures: 0, failingSince: null, lastFailedAt: null, failureCode: null } as const

function failedTry(
  failures: number,
  lastFailedAt: string,
  upstreamStatus: number | null,
  classification: Classification | null,
) {
  return { failures, lastFailedAt, failureCode: upstreamStatus === null ? classification : String(upstreamStatus) }
}

interface ReviewEvent {
  readonly data: { readonly aiReviewId: string }
  readonly revision: bigint
}

function changed(
  { data: { aiReviewId }, revision }: ReviewEvent,
  updatedAt: string,
  set: Omit<ChangeOf<typeof aiReviewsTable>, 'aiReviewId'> = {},
): RowChange {
  return patchRow(aiReviewsTable, { ...set, aiReviewId, updatedAt, streamRevision: revision })
}

function qualityPatches(aiReviewId: string, imageQuality: readonly ImageQuality[]): RowChange[] {
  return imageQuality.map(({ imageId, quality }) =>
    patchRow(aiReviewImagesTable, { aiReviewId, clinicalImageId: imageId, imageQuality: quality }),
  )
}

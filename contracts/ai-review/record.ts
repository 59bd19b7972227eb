import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import { AiReviewStatus, CancellationReason, Coordinates, type Classification } from '../../streams/ai-review/events.ts'
import { ImageType } from '../../streams/types.ts'

const text = Nullable(Type.String())
const integer = Nullable(Type.Integer())
const instant = Nullable(Instant)

const over: ReadonlySet<string> = new Set<AiReviewStatus>(['completed', 'failed', 'cancelled', 'superseded'])

/** Whether a review has ended. It may still hold its slot. */
export function isOver(status: AiReviewStatus): boolean {
  return over.has(status)
}

const review = {
  id: Uuid,
  caseId: Uuid,
  productId: Uuid,
  orgId: Uuid,
  patientId: Nullable(Uuid, {
    description: 'The patient of the case. Null until the review of another service starts.',
  }),
  status: AiReviewStatus,
  attemptCount: Type.Integer({ description: 'Result polls.' }),
  correlationId: text,
  providerCaseId: integer,
  providerChecksum: text,
  providerVersion: Nullable(Type.String(), {
    description: 'Of a processed case, also if the review failed.',
  }),
  analysisResult: Nullable(Type.String(), {
    description: 'Additive: the verdict of the provider on a processed case, also if the review failed.',
    ...personal('results'),
  }),
  cancelReason: Nullable(CancellationReason, {
    description: 'Why the review was cancelled. It stays after the review is superseded.',
  }),
  supersededById: Nullable(Uuid),
  supersededAt: instant,
  error: Nullable(
    Type.Object({
      code: Type.String(),
      message: Type.String(),
      classification: Type.String(),
      upstreamStatus: integer,
    }),
  ),
  errorClassification: text,
  createdAt: Instant,
  updatedAt: Instant,
  completedAt: instant,
}

/** Specification 2.6, in the form for lists: without lesions and addresses. */
export const AiReviewRecord = Type.Object(review, { $id: 'AiReviewRecord' })
export type AiReviewRecord = Static<typeof AiReviewRecord>

/** The same for GET by id (specification 4.5), with lesions and addresses. */
export const AiReviewDetails = Type.Object(
  {
    ...review,
    images: Type.Array(
      Type.Object({
        id: Uuid,
        aiReviewId: Uuid,
        clinicalImageId: Uuid,
        imageType: ImageType,
        providerImageId: integer,
        providerImageHash: text,
        imageQuality: text,
        createdAt: Instant,
      }),
      personal('images'),
    ),
    result: Nullable(
      Type.Object({
        id: Uuid,
        aiReviewId: Uuid,
        analysisResult: Type.String(),
        analysisStatus: text,
        lesionCount: Type.Integer(),
        processingType: text,
        sensitivitySet: text,
        reportDate: instant,
        createdAt: Instant,
      }),
      personal('results'),
    ),
    lesions: Type.Array(
      Type.Object({
        id: Uuid,
        aiReviewId: Uuid,
        lesionNumber: Type.Integer(),
        providerLesionId: Type.Integer(),
        coordinates: Nullable(Coordinates),
        classification: text,
        category: text,
        priority: integer,
        suspectedDiagnosisIcd10Code: text,
        suspectedDiagnosisIcd10Term: text,
        suspectedDiagnosisSnomedCode: text,
        suspectedDiagnosisSnomedTerm: text,
        referralFlag: text,
        referralRecommendation: text,
        referralRecommendationGuidance: text,
        interpretationGuidance: text,
        createdAt: Instant,
      }),
      personal('results'),
    ),
  },
  { $id: 'AiReviewDetails' },
)
export type AiReviewDetails = Static<typeof AiReviewDetails>

/** Seconds until a caller should poll a new review. */
export const pollAfterSeconds = 2

/** Fixed texts: no error contains text of the provider. */
export const aiReviewFailures = {
  provider_auth_failed: { message: 'The provider refused the session after a new login.', retriable: false },
  provider_upstream_transient: { message: 'The provider kept failing or timing out.', retriable: true },
  provider_client_error: { message: 'The provider refused the request.', retriable: false },
  provider_result_timeout: {
    message: 'The provider had no result within the attempt or time budget.',
    retriable: false,
  },
  provider_processing_failed: { message: 'The provider could not process the images.', retriable: false },
  image_fetch_failed: { message: 'An image could not be fetched from its address.', retriable: false },
  image_host_unavailable: { message: 'The host of an image did not answer, or failed.', retriable: true },
  consent_missing: { message: 'The patient has not granted consent.', retriable: false },
  consent_check_unavailable: { message: 'Consent could not be checked.', retriable: true },
  case_lookup_unavailable: { message: 'The case could not be looked up.', retriable: true },
  budget_exceeded: { message: 'The organisation has used up its AI reviews of the day.', retriable: true },
} as const satisfies Record<Classification, { message: string; retriable: boolean }>

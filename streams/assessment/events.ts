import { Type, type Static } from 'typebox'
import { defineEvent, Phi, type EventOf } from '../../engine/store/schema.ts'
import {
  CausingRequest,
  Count,
  Fingerprint,
  Id,
  Instant,
  Int32,
  Nullable,
  OrgId,
  StoredObject,
} from '../../engine/aggregates/types.ts'
import { CodedTerm, ImageType, ReviewOrdinal } from '../types.ts'

export const CaptureType = Type.Enum(['dermoscopic', 'macroscopic', 'other'])
export const FindingType = Type.Enum(['lesion', 'rash', 'patch', 'blemish', 'other'])

/**
 * `inline`: the request contains the images. `slot`: the client uploads them afterwards. `collected`: a workflow has
 * collected them, and they have streams of their own.
 */
export const SubmissionMode = Type.Enum(['inline', 'slot', 'collected'])
export type SubmissionMode = Static<typeof SubmissionMode>

export const AssessmentStatus = Type.Enum(['awaiting_images', 'processing', 'completed', 'failed'])

/** Why an assessment failed; each has a fixed message (`contracts/assessments/record.ts`), so that no free text is stored. */
export const FailureCode = Type.Enum([
  'IMAGE_QUALITY_INSUFFICIENT',
  'IMAGE_UNREADABLE',
  'IMAGE_FETCH_FAILED',
  'UPLOAD_WINDOW_EXPIRED',
  'CONSENT_MISSING',
  'ANALYSIS_TIMEOUT',
  'ANALYSIS_FAILED',
  'PROVIDER_UNAVAILABLE',
  'PROVIDER_REJECTED',
  'CANCELLED',
])
export type FailureCode = Static<typeof FailureCode>

export const Recommendation = Type.Enum(['no_action', 'routine_follow_up', 'refer', 'urgent_referral', 'inconclusive'])
export type Recommendation = Static<typeof Recommendation>

/** The result as the client receives it (specification 2.2). The score is ordinal, not a probability. */
export const Outcome = Type.Object({
  malignancy_score: Type.Number({ minimum: 0, maximum: 1 }),
  recommendation: Recommendation,
  score_basis: Type.String(),
  scoring_version: Type.String(),
  lesions: Type.Array(
    Type.Object({
      lesion_number: Count,
      category: Nullable(Type.String()),
      classification: Nullable(Type.String()),
      priority: Nullable(Int32),
      icd10: CodedTerm,
      snomed: CodedTerm,
      referral_flag: Nullable(Type.String()),
      referral_recommendation: Nullable(Type.String()),
      interpretation_guidance: Nullable(Type.String()),
    }),
  ),
  image_quality: Type.Array(Type.Object({ image_id: Id, quality: Nullable(Type.String()) })),
})
export type Outcome = Static<typeof Outcome>

/** A human review of the assessment, as the client receives it. `open` also while a clinician has claimed it. */
export const HumanReview = Type.Object({
  status: Type.Enum(['open', 'decided', 'cancelled']),
  decided_at: Nullable(Instant),
  agrees_with_ai: Nullable(Type.Boolean()),
})
export type HumanReview = Static<typeof HumanReview>

/** `sizeBytes`: the only length that the upload may have, if the request contains one. */
const DeclaredImage = Type.Object({
  imageId: Id,
  captureType: CaptureType,
  mimeType: Type.String(),
  sizeBytes: Type.Optional(Type.Integer()),
})

/** An image under a key that nothing overwrites. */
export const ReceivedImage = Type.Object({
  imageId: Id,
  object: StoredObject,
  /** Pixels. Null if the development profile accepted an image without measurable size. */
  width: Nullable(Int32),
  height: Nullable(Int32),
})
export type ReceivedImage = Static<typeof ReceivedImage>

const ofTask = {
  assessmentId: Id,
  taskId: Id,
  /** No newer review of the assessment has a task. Only then the record shows this one. */
  isNewest: Type.Boolean(),
}

/** Version 1 of `AssessmentSubmitted` covered submissions within the request only. */
const submittedUpcasters = { 1: (data: unknown) => ({ ...Object(data), request: null }) }
/** Before version 2 the case was opened first. */
const reviewRequestedUpcasters = { 1: (data: unknown) => ({ ...Object(data), isCaseOpen: true }) }

export const assessmentEvents = {
  AssessmentRequested: defineEvent(
    'AssessmentRequested',
    Type.Object({
      assessmentId: Id,
      organisationId: OrgId,
      patientId: Id,
      productId: Id,
      finding: Type.Object({ findingType: FindingType, bodySiteId: Nullable(Id) }),
      externalReference: Phi(Nullable(Type.String())),
      clinicalContext: Phi(Nullable(Type.Record(Type.String(), Type.Unknown()))),
      customFields: Phi(Nullable(Type.Record(Type.String(), Type.String()))),
      fingerprint: Fingerprint,
      mode: SubmissionMode,
      images: Type.Array(DeclaredImage),
      requestedAt: Instant,
    }),
    { subject: 'patientId' },
  ),
  /** Slot mode: without upload and submit before this instant, the assessment fails with UPLOAD_WINDOW_EXPIRED. */
  AssessmentUploadsAwaited: defineEvent(
    'AssessmentUploadsAwaited',
    Type.Object({ assessmentId: Id, closesAt: Instant }),
  ),
  /** Every image is in the object store. The event fixes the case id; the case opens afterwards. */
  AssessmentSubmitted: defineEvent(
    'AssessmentSubmitted',
    Type.Object({
      assessmentId: Id,
      caseId: Id,
      images: Type.Array(ReceivedImage),
      submittedAt: Instant,
      deadlineAt: Instant,
      /** The submit call's request. Null in inline mode: AssessmentRequested contains that request. */
      request: CausingRequest,
    }),
    { version: 2, upcasters: submittedUpcasters },
  ),
  /** The relay publishes this event as `ai_review.requested`. */
  AssessmentReviewRequested: defineEvent(
    'AssessmentReviewRequested',
    Type.Object({
      assessmentId: Id,
      caseId: Id,
      patientId: Id,
      productId: Id,
      images: Type.Array(Type.Object({ imageId: Id, imageType: ImageType, objectKey: Type.String() })),
      /** False if the case opens a moment later. */
      isCaseOpen: Type.Boolean(),
      requestedAt: Instant,
    }),
    { version: 2, upcasters: reviewRequestedUpcasters },
  ),
  /**
   * The one renewal of an assessment. It asks AI review to supersede this review, because its addresses had expired.
   */
  AssessmentReviewRenewed: defineEvent(
    'AssessmentReviewRenewed',
    Type.Object({ assessmentId: Id, aiReviewId: Id, renewedAt: Instant }),
  ),
  AssessmentCompleted: defineEvent(
    'AssessmentCompleted',
    Type.Object({
      assessmentId: Id,
      aiReviewId: Id,
      aiProvider: Type.String(),
      outcome: Outcome,
      completedAt: Instant,
    }),
  ),
  AssessmentFailed: defineEvent(
    'AssessmentFailed',
    Type.Object({ assessmentId: Id, aiReviewId: Nullable(Id), code: FailureCode, failedAt: Instant }),
  ),
  /** An AI review of the assessment has a task of human review. These three events follow the end of the assessment. */
  AssessmentHumanReviewOpened: defineEvent(
    'AssessmentHumanReviewOpened',
    Type.Object({ ...ofTask, reviewOrdinal: ReviewOrdinal, openedAt: Instant }),
  ),
  /** Each decision reaches the product, also one about a review that was superseded, or that came after the deadline. */
  AssessmentHumanReviewDecided: defineEvent(
    'AssessmentHumanReviewDecided',
    Type.Object({ ...ofTask, aiReviewId: Id, agreesWithAi: Type.Boolean(), decidedAt: Instant }),
  ),
  AssessmentHumanReviewCancelled: defineEvent(
    'AssessmentHumanReviewCancelled',
    Type.Object({ ...ofTask, cancelledAt: Instant }),
  ),
} as const

export type AssessmentEvent = EventOf<typeof assessmentEvents>

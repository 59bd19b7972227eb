import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'

/** Milliseconds that a client waits between two polls of a processing assessment. */
export const pollAfterMs = 5000

const optionalText = Type.Optional(Type.String())
const nullableText = Nullable(Type.String())
const CodedTerm = Type.Object({ code: nullableText, term: nullableText })

/** Specification 2.2, with the additive members of contract section 3, line 97. */
export const AssessmentRecord = Type.Object(
  {
    id: Uuid,
    status: Type.Enum(['awaiting_images', 'processing', 'completed', 'failed']),
    patient_id: Uuid,
    case_id: Nullable(Uuid),
    external_reference: optionalText,
    images: Type.Array(
      Type.Object({
        id: Type.String(),
        capture_type: Type.Enum(['dermoscopic', 'macroscopic', 'other']),
        status: Type.Enum(['awaiting_upload', 'received', 'processed']),
        upload_url: optionalText,
        download_url: optionalText,
      }),
    ),
    result: Type.Union([
      Type.Object({
        ai_provider: Type.String(),
        outcome: Type.Object({
          malignancy_score: Type.Number({ description: 'From 0 to 1; ordinal, not a probability.' }),
          recommendation: Type.String({
            description:
              'no_action, routine_follow_up, refer, urgent_referral, inconclusive; clients tolerate new values.',
          }),
          score_basis: Type.String(),
          scoring_version: Type.String(),
          lesions: Type.Array(
            Type.Object({
              lesion_number: Type.Integer(),
              category: nullableText,
              classification: nullableText,
              priority: Nullable(Type.Integer()),
              icd10: CodedTerm,
              snomed: CodedTerm,
              referral_flag: nullableText,
              referral_recommendation: nullableText,
              interpretation_guidance: nullableText,
            }),
          ),
          image_quality: Type.Array(Type.Object({ image_id: Type.String(), quality: nullableText })),
        }),
        completed_at: Instant,
      }),
      Type.Null(),
    ]),
    error: Type.Union([
      Type.Object({ code: Type.String(), message: Type.String(), retriable: Type.Boolean() }),
      Type.Null(),
    ]),
    next_poll_after_ms: Type.Optional(Type.Integer()),
  },
  { $id: 'AssessmentRecord' },
)
export type AssessmentRecord = Static<typeof AssessmentRecord>

/** Fixed messages (contract section 3, line 493): no text from outside reaches an error. */
export const assessmentFailures = {
  IMAGE_QUALITY_INSUFFICIENT: { message: 'At least one image is below the quality threshold.', retriable: true },
  IMAGE_UNREADABLE: { message: 'At least one image could not be read.', retriable: true },
  IMAGE_FETCH_FAILED: { message: 'At least one image could not be fetched for the analysis.', retriable: true },
  UPLOAD_WINDOW_EXPIRED: { message: 'The images were not submitted in time.', retriable: true },
  CONSENT_MISSING: { message: 'The patient has not granted consent to the analysis.', retriable: false },
  ANALYSIS_TIMEOUT: { message: 'The analysis did not finish in time.', retriable: true },
  ANALYSIS_FAILED: { message: 'The analysis could not be carried out on these images.', retriable: false },
  PROVIDER_UNAVAILABLE: { message: 'The analysis service could not be reached.', retriable: true },
  PROVIDER_REJECTED: { message: 'The analysis service refused the request.', retriable: false },
  CANCELLED: { message: 'The analysis was cancelled.', retriable: false },
} as const satisfies Record<string, { message: string; retriable: boolean }>

/** What a record is made from, whether it was read from a table or folded from the stream. */
export interface AssessmentView {
  readonly id: string
  readonly status: AssessmentRecord['status']
  readonly patientId: string
  readonly caseId: string | null
  readonly externalReference: string | null
  readonly images: readonly {
    readonly imageId: string
    readonly captureType: CaptureType
    readonly objectKey: string | null
  }[]
  readonly result: AssessmentRecord['result']
  readonly failureCode: keyof typeof assessmentFailures | null
}

type CaptureType = AssessmentRecord['images'][number]['capture_type']

/** Whether nothing more becomes of an assessment. */
export function isOver(status: AssessmentView['status']): boolean {
  return status === 'completed' || status === 'failed'
}

type ImageStatus = AssessmentRecord['images'][number]['status']

/** What was never submitted is awaited, also after its assessment failed. */
function imageStatus(status: AssessmentView['status'], objectKey: string | null): ImageStatus {
  if (objectKey === null) return 'awaiting_upload'
  return status === 'completed' ? 'processed' : 'received'
}

const none: ReadonlyMap<string, string> = new Map()

/**
 * @param downloadUrls by object key; signed at response time, needed for completed assessments only
 * @param uploadUrls by image id; for the answer of a create only
 */
export function toAssessmentRecord(
  view: AssessmentView,
  downloadUrls: ReadonlyMap<string, string>,
  uploadUrls = none,
): AssessmentRecord {
  const failure = view.failureCode === null ? null : assessmentFailures[view.failureCode]
  return {
    id: view.id,
    status: view.status,
    patient_id: view.patientId,
    case_id: view.caseId,
    ...(view.externalReference === null ? {} : { external_reference: view.externalReference }),
    images: view.images.map(({ imageId, captureType, objectKey }) => {
      const download = objectKey === null ? undefined : downloadUrls.get(objectKey)
      const upload = uploadUrls.get(imageId)
      return {
        id: imageId,
        capture_type: captureType,
        status: imageStatus(view.status, objectKey),
        ...(upload === undefined ? {} : { upload_url: upload }),
        ...(view.status === 'completed' && download !== undefined ? { download_url: download } : {}),
      }
    }),
    result: view.result === null ? null : inOrder(view.result),
    error: failure === null || view.failureCode === null ? null : { code: view.failureCode, ...failure },
    ...(view.status === 'processing' ? { next_poll_after_ms: pollAfterMs } : {}),
  }
}

type Result = NonNullable<AssessmentRecord['result']>

/** A read model keeps members in an order of its own; the record has one order wherever it comes from. */
function inOrder({ ai_provider, outcome, completed_at }: Result): Result {
  const { malignancy_score, recommendation, score_basis, scoring_version, lesions, image_quality } = outcome
  return {
    ai_provider,
    outcome: {
      malignancy_score,
      recommendation,
      score_basis,
      scoring_version,
      lesions: lesions.map((lesion) => ({
        lesion_number: lesion.lesion_number,
        category: lesion.category,
        classification: lesion.classification,
        priority: lesion.priority,
        icd10: { code: lesion.icd10.code, term: lesion.icd10.term },
        snomed: { code: lesion.snomed.code, term: lesion.snomed.term },
        referral_flag: lesion.referral_flag,
        referral_recommendation: lesion.referral_recommendation,
        interpretation_guidance: lesion.interpretation_guidance,
      })),
      image_quality: image_quality.map(({ image_id, quality }) => ({ image_id, quality })),
    },
    completed_at,
  }
}

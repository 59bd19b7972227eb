import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { AssessmentStatus, CaptureType, HumanReview, type FailureCode } from '../../streams/assessment/events.ts'
import { ImageStatus } from '../../streams/image/events.ts'
import { CodedTerm } from '../../streams/types.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

/** Milliseconds between two polls of a processing assessment. */
export const pollAfterMs = 5000

const optionalText = Type.Optional(Type.String())
const nullableText = Nullable(Type.String())

const AssessmentImage = Type.Object({
  id: Type.String(),
  capture_type: CaptureType,
  status: ImageStatus,
  upload_url: optionalText,
  download_url: optionalText,
})

/** Specification 2.2, with members that it leaves open. */
export const AssessmentRecord = Type.Object(
  {
    id: Uuid,
    status: AssessmentStatus,
    patient_id: Uuid,
    case_id: Nullable(Uuid),
    external_reference: Type.Optional(Type.String(personal('record'))),
    images: Type.Array(AssessmentImage, personal('images')),
    result: Nullable(
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
      personal('results'),
    ),
    error: Nullable(Type.Object({ code: Type.String(), message: Type.String(), retriable: Type.Boolean() })),
    next_poll_after_ms: Type.Optional(Type.Integer()),
    review: Type.Optional(
      Type.Object(HumanReview.properties, {
        description:
          'Human review of the newest AI review of the assessment that has one. It changes neither status nor result nor error.',
      }),
    ),
  },
  { $id: 'AssessmentRecord' },
)
export type AssessmentRecord = Static<typeof AssessmentRecord>

/** Fixed messages (specification 7.2): no error contains text from outside. */
const assessmentFailures = {
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
} as const satisfies Record<FailureCode, { message: string; retriable: boolean }>

type Made = 'externalReference' | 'images' | 'error' | 'nextPollAfterMs' | 'review'

/** The values of a record, from a table or from a fold of the stream. */
export type AssessmentView = Omit<ValuesOf<typeof AssessmentRecord>, Made> & {
  readonly externalReference: string | null
  readonly images: readonly {
    readonly imageId: string
    readonly captureType: Static<typeof CaptureType>
    readonly objectKey: string | null
  }[]
  readonly failureCode: FailureCode | null
  readonly review: HumanReview | null
}

/** Whether an assessment has ended. */
export function isOver(status: AssessmentView['status']): boolean {
  return status === 'completed' || status === 'failed'
}

/** An image that was never submitted stays awaited, also after its assessment failed. */
function imageStatus(status: AssessmentView['status'], objectKey: string | null): Static<typeof ImageStatus> {
  if (objectKey === null) return 'awaiting_upload'
  return status === 'completed' ? 'processed' : 'received'
}

const none: ReadonlyMap<string, string> = new Map()

/** Signed addresses of a completed assessment's images, by object key. Empty for any other status. */
export async function signDownloads(
  objects: Pick<ObjectStore, 'presignDownload'>,
  view: AssessmentView,
  ttlSeconds: number,
): Promise<ReadonlyMap<string, string>> {
  if (view.status !== 'completed') return none
  const keys = view.images.flatMap(({ objectKey }) => (objectKey === null ? [] : [objectKey]))
  const signed = await Promise.all(
    keys.map(async (key) => [key, (await objects.presignDownload(key, ttlSeconds)).url] as const),
  )
  return new Map(signed)
}

/**
 * @param downloadUrls by object key, signed at response time, only for completed assessments
 * @param uploadUrls by image id, only for the answer of a create
 */
export function toAssessmentRecord(
  view: AssessmentView,
  downloadUrls: ReadonlyMap<string, string>,
  uploadUrls = none,
): AssessmentRecord {
  const { status, externalReference, failureCode, review } = view
  return toRecord(AssessmentRecord, {
    ...view,
    externalReference: externalReference ?? undefined,
    images: view.images.map(({ imageId, captureType, objectKey }) =>
      toRecord(AssessmentImage, {
        id: imageId,
        captureType,
        status: imageStatus(status, objectKey),
        uploadUrl: uploadUrls.get(imageId),
        downloadUrl: status === 'completed' ? downloadUrls.get(objectKey ?? '') : undefined,
      }),
    ),
    error: failureCode === null ? null : { code: failureCode, ...assessmentFailures[failureCode] },
    nextPollAfterMs: status === 'processing' ? pollAfterMs : undefined,
    review: review ?? undefined,
  })
}

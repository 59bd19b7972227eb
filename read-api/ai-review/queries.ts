import { v5 } from 'uuid'
import type { Pool } from '../../platform/database/database.ts'
import type { CursorPlace } from '../../platform/http/cursors.ts'
import { aiReviewFailures, type AiReviewDetails, type AiReviewRecord } from '../../contracts/ai-review/record.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { rowOf, rowsOf, type Found } from '../rows.ts'

export interface ReviewRow {
  ai_review_id: string
  org_id: string
  case_id: string
  product_id: string
  patient_id: string | null
  status: AiReviewRecord['status']
  attempt_count: number
  correlation_id: string | null
  provider_case_id: number | null
  provider_checksum: string | null
  provider_version: string | null
  analysis_result: string | null
  error_classification: keyof typeof aiReviewFailures | null
  upstream_status: number | null
  cancel_reason: AiReviewRecord['cancelReason']
  superseded_by_id: string | null
  superseded_at: Date | null
  created_at: Date
  updated_at: Date
  completed_at: Date | null
  stream_revision: string
}

export function toReviewRecord(row: ReviewRow): AiReviewRecord {
  const classification = row.error_classification
  return {
    id: row.ai_review_id,
    caseId: row.case_id,
    productId: row.product_id,
    orgId: row.org_id,
    patientId: row.patient_id,
    status: row.status,
    attemptCount: row.attempt_count,
    correlationId: row.correlation_id,
    providerCaseId: row.provider_case_id,
    providerChecksum: row.provider_checksum,
    providerVersion: row.provider_version,
    analysisResult: row.analysis_result,
    cancelReason: row.cancel_reason,
    supersededById: row.superseded_by_id,
    supersededAt: row.superseded_at?.toISOString() ?? null,
    error:
      classification === null
        ? null
        : {
            code: classification,
            message: aiReviewFailures[classification].message,
            classification,
            upstreamStatus: row.upstream_status,
          },
    errorClassification: classification,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    completedAt: row.completed_at?.toISOString() ?? null,
  }
}

export interface ReviewFilters {
  readonly caseId?: string | undefined
  readonly productId?: string | undefined
  readonly status?: string | undefined
}

/** Newest first. */
export async function listReviews(
  pool: Pool,
  org: TenantId,
  { caseId, productId, status }: ReviewFilters,
  after: CursorPlace | null,
  limit: number,
): Promise<ReviewRow[]> {
  return rowsOf<ReviewRow>(
    pool,
    `select * from ai_reviews.ai_reviews
     where org_id = $1 and ($2::uuid is null or case_id = $2::uuid) and ($3::uuid is null or product_id = $3::uuid)
       and ($4::text is null or status = $4::text)
       and ($5::timestamptz is null or (created_at, ai_review_id) < ($5::timestamptz, $6::uuid))
     order by created_at desc, ai_review_id desc limit $7`,
    [org, caseId ?? null, productId ?? null, status ?? null, after?.[0] ?? null, after?.[1] ?? null, limit],
  )
}

interface DetailsRow extends ReviewRow {
  images: Omit<AiReviewDetails['images'][number], 'id' | 'aiReviewId'>[]
  lesions:
    | { lesion: Omit<AiReviewDetails['lesions'][number], 'id' | 'aiReviewId' | 'createdAt'>; createdAt: string }[]
    | null
  analysis_status: string | null
  lesion_count: number
  processing_type: string | null
  sensitivity_set: string | null
  report_date: Date | null
  result_created_at: Date | null
}

/** The review with all that belongs to it in one statement, so that everything is of the same moment. */
export async function getReview(
  pool: Pool,
  org: TenantId,
  id: string,
): Promise<Found<{ readonly details: AiReviewDetails }>> {
  const row = await rowOf<DetailsRow>(
    pool,
    `select r.*, s.analysis_status, s.lesion_count, s.processing_type, s.sensitivity_set, s.report_date,
       s.created_at as result_created_at,
       (select jsonb_agg(jsonb_build_object(
            'clinicalImageId', i.clinical_image_id, 'imageType', i.image_type, 'providerImageId', i.provider_image_id,
            'providerImageHash', i.provider_image_hash, 'imageQuality', i.image_quality, 'createdAt', i.created_at)
          order by i.ordinal)
        from ai_reviews.ai_review_images i where i.ai_review_id = r.ai_review_id) as images,
       (select jsonb_agg(jsonb_build_object('lesion', l.lesion, 'createdAt', l.created_at) order by l.lesion_number)
        from ai_reviews.ai_review_lesions l where l.ai_review_id = r.ai_review_id) as lesions
     from ai_reviews.ai_reviews r left join ai_reviews.ai_review_results s using (ai_review_id)
     where r.org_id = $1 and r.ai_review_id = $2`,
    [org, id],
  )
  const aiReviewId = row.ai_review_id
  const details = {
    ...toReviewRecord(row),
    images: row.images.map((image) => ({
      ...image,
      id: v5(image.clinicalImageId, aiReviewId),
      aiReviewId,
      createdAt: new Date(image.createdAt).toISOString(),
    })),
    result:
      row.analysis_result === null || row.result_created_at === null
        ? null
        : {
            id: v5('result', aiReviewId),
            aiReviewId,
            analysisResult: row.analysis_result,
            analysisStatus: row.analysis_status,
            lesionCount: row.lesion_count,
            processingType: row.processing_type,
            sensitivitySet: row.sensitivity_set,
            reportDate: row.report_date?.toISOString() ?? null,
            createdAt: row.result_created_at.toISOString(),
          },
    lesions: (row.lesions ?? []).map(({ lesion, createdAt }) => ({
      ...lesion,
      id: v5(`lesion/${lesion.lesionNumber}`, aiReviewId),
      aiReviewId,
      createdAt: new Date(createdAt).toISOString(),
    })),
  }
  return { details, revision: BigInt(row.stream_revision) }
}

import { v5 } from 'uuid'
import { AiReviewDetails, aiReviewFailures, AiReviewRecord } from '../../contracts/ai-review/record.ts'
import { toRecord } from '../../engine/reads/records.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  aiReviewResultsTable,
  aiReviewsProjector,
  aiReviewsTable,
} from '../../projections/ai-review/ai-reviews.projector.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import {
  columnsOf,
  computed,
  rowsOfTenant,
  sortOrder,
  tableOf,
  viewByIds,
  pageOf,
} from '../../engine/reads/tenant-rows.ts'

type Review = ViewOf<typeof aiReviewsTable>

const r = columnsOf(aiReviewsTable, 'r')
const s = columnsOf(aiReviewResultsTable, 's')

function reviewValues(review: Review) {
  const { aiReviewId: id, errorClassification: classification, upstreamStatus } = review
  const error =
    classification === null
      ? null
      : { code: classification, message: aiReviewFailures[classification].message, classification, upstreamStatus }
  return { ...review, id, error }
}

export function toReviewRecord(review: Review): AiReviewRecord {
  return toRecord(AiReviewRecord, reviewValues(review))
}

export interface ReviewFilters {
  readonly caseId?: string | undefined
  readonly productId?: string | undefined
  readonly status?: AiReviewRecord['status'] | undefined
}

const newestFirst = sortOrder('desc', r.createdAt, r.aiReviewId)
export const { placeOf: placeOfReview } = newestFirst

export async function listReviews(
  pool: Pool,
  tenant: TenantId,
  { caseId, productId, status }: ReviewFilters,
  page: PageRequest,
) {
  const reviews = rowsOfTenant(aiReviewsProjector, aiReviewsTable, 'r', tenant)
  if (caseId !== undefined) reviews.where(r.caseId, caseId)
  if (productId !== undefined) reviews.where(r.productId, productId)
  if (status !== undefined) reviews.where(r.status, status)
  return pageOf(pool, newestFirst, reviews, page)
}

type Part<Of> = Omit<Of, 'id' | 'aiReviewId'>
type Image = Part<AiReviewDetails['images'][number]>
type Lesion = Omit<Part<AiReviewDetails['lesions'][number]>, 'createdAt'>

/** Reads the review and its parts in one statement, so that all are of the same moment. */
const reviewWithParts = viewByIds((tenant: TenantId, id: string) =>
  rowsOfTenant(aiReviewsProjector, aiReviewsTable, 'r', tenant)
    .where(r.aiReviewId, id)
    .leftJoin(tableOf(aiReviewsProjector, aiReviewResultsTable, 's'), s.aiReviewId, r.aiReviewId)
    .select({
      analysisStatus: s.analysisStatus,
      lesionCount: s.lesionCount,
      processingType: s.processingType,
      sensitivitySet: s.sensitivitySet,
      reportDate: s.reportDate,
      resultCreatedAt: computed<string | null>('??', [s.createdAt]),
      images: computed<readonly Image[]>(
        `(select jsonb_agg(jsonb_build_object(
            'clinicalImageId', i.clinical_image_id, 'imageType', i.image_type, 'providerImageId', i.provider_image_id,
            'providerImageHash', i.provider_image_hash, 'imageQuality', i.image_quality, 'createdAt', i.created_at)
          order by i.ordinal)
          from ai_reviews.ai_review_images i where i.ai_review_id = ??)`,
        [r.aiReviewId],
      ),
      lesions: computed<readonly { readonly lesion: Lesion; readonly createdAt: string }[] | null>(
        `(select jsonb_agg(jsonb_build_object('lesion', l.lesion, 'createdAt', l.created_at) order by l.lesion_number)
          from ai_reviews.ai_review_lesions l where l.ai_review_id = ??)`,
        [r.aiReviewId],
      ),
    }),
)

export async function getReview(pool: Pool, tenant: TenantId, id: string) {
  const review = await reviewWithParts(pool, tenant, id)
  const { aiReviewId, analysisResult, resultCreatedAt } = review
  const details = toRecord(AiReviewDetails, {
    ...reviewValues(review),
    images: review.images.map((image) => ({
      ...image,
      id: v5(image.clinicalImageId, aiReviewId),
      aiReviewId,
      createdAt: new Date(image.createdAt).toISOString(),
    })),
    result:
      analysisResult === null || resultCreatedAt === null
        ? null
        : { ...review, analysisResult, id: v5('result', aiReviewId), createdAt: resultCreatedAt },
    lesions: (review.lesions ?? []).map(({ lesion, createdAt }) => ({
      ...lesion,
      id: v5(`lesion/${lesion.lesionNumber}`, aiReviewId),
      aiReviewId,
      createdAt: new Date(createdAt).toISOString(),
    })),
  })
  return { details, revision: BigInt(review.streamRevision) }
}

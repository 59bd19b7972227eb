import { v5 } from 'uuid'
import { AiReviewDetails, aiReviewFailures, AiReviewRecord } from '../../contracts/ai-review/record.ts'
import { toRecord } from '../../engine/reads/records.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  aiReviewImagesTable,
  aiReviewLesionsTable,
  aiReviewResultsTable,
  aiReviewsProjector,
  aiReviewsTable,
} from '../../projections/ai-review/ai-reviews.projector.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import {
  childrenOf,
  filtered,
  on,
  pageOf,
  rowsOfTenant,
  sortOrder,
  tableOf,
  viewByIds,
  type Filters,
} from '../../engine/reads/tenant-rows.ts'

type Review = ViewOf<typeof aiReviewsTable>

const r = tableOf(aiReviewsProjector, aiReviewsTable, 'r')
const s = tableOf(aiReviewsProjector, aiReviewResultsTable, 's')
const i = tableOf(aiReviewsProjector, aiReviewImagesTable, 'i')
const l = tableOf(aiReviewsProjector, aiReviewLesionsTable, 'l')

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

const newestFirst = sortOrder('desc', r.createdAt, r.aiReviewId)
export const { placeOf: placeOfReview } = newestFirst

export async function listReviews(
  pool: Pool,
  tenant: TenantId,
  filters: Filters<typeof aiReviewsTable>,
  page: PageRequest,
) {
  const reviews = filtered(rowsOfTenant(r, tenant), r, filters)
  return pageOf(pool, newestFirst, reviews, page)
}

const { clinicalImageId, imageType, providerImageId, providerImageHash, imageQuality } = i

/** Reads the review and its parts in one statement, so that all are of the same moment. */
const reviewWithParts = viewByIds((tenant: TenantId, id: string) =>
  rowsOfTenant(r, tenant)
    .where(r.aiReviewId, id)
    .leftJoin(...on(s, { aiReviewId: r.aiReviewId }))
    .select({
      analysisStatus: s.analysisStatus,
      lesionCount: s.lesionCount,
      processingType: s.processingType,
      sensitivitySet: s.sensitivitySet,
      reportDate: s.reportDate,
      resultCreatedAt: s.createdAt,
      images: childrenOf(i, {
        on: { aiReviewId: r.aiReviewId },
        select: {
          clinicalImageId,
          imageType,
          providerImageId,
          providerImageHash,
          imageQuality,
          createdAt: i.createdAt,
        },
        orderBy: [i.ordinal],
      }),
      lesions: childrenOf(l, {
        on: { aiReviewId: r.aiReviewId },
        select: { lesion: l.lesion, createdAt: l.createdAt },
        orderBy: [l.lesionNumber],
      }),
    }),
)

export async function getReview(pool: Pool, tenant: TenantId, id: string) {
  const review = await reviewWithParts(pool, tenant, id)
  const { aiReviewId, analysisResult, resultCreatedAt } = review
  const details = toRecord(AiReviewDetails, {
    ...reviewValues(review),
    images: review.images.map((image) => ({ ...image, id: v5(image.clinicalImageId, aiReviewId), aiReviewId })),
    result:
      analysisResult === null || resultCreatedAt === null
        ? null
        : { ...review, analysisResult, id: v5('result', aiReviewId), createdAt: resultCreatedAt },
    lesions: review.lesions.map(({ lesion, createdAt }) => ({
      ...lesion,
      id: v5(`lesion/${lesion.lesionNumber}`, aiReviewId),
      aiReviewId,
      createdAt,
    })),
  })
  return { details, revision: BigInt(review.streamRevision) }
}

import { Type } from 'typebox'
import { AiReviewDetails, AiReviewRecord, isOver } from '../../contracts/ai-review/record.ts'
import { Uuid } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { aiReviewsProjector } from '../../projections/ai-review/ai-reviews.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { getReview, listReviews, placeOfReview, toReviewRecord } from './queries.ts'

const shared = { access: { scopes: ['ai-review:read'] }, servedBy: [aiReviewsProjector] } as const

export function aiReviewReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool } = deps

  listRoute(app, deps, {
    ...shared,
    path: '/ai-reviews',
    operationId: 'listAiReviews',
    summary: 'AI reviews of the organisation, newest first',
    query: {
      caseId: Type.Optional(Uuid),
      productId: Type.Optional(Uuid),
      status: Type.Optional(AiReviewRecord.properties.status),
    },
    list: 'ai-reviews',
    sort: '-created_at',
    pageName: 'AiReviewPage',
    item: AiReviewRecord,
    casing: 'camel',
    rows: ({ tenant, filters }, page) => listReviews(pool, tenant, filters, page),
    placeOf: placeOfReview,
    toItem: toReviewRecord,
    shows: ({ patientId }) => ({ patientId }),
  })

  readRoute(app, {
    ...shared,
    path: '/ai-reviews/:id',
    operationId: 'getAiReview',
    summary: 'An AI review with its images, result and lesions',
    params: { id: Uuid },
    reply: AiReviewDetails,
    shows: ({ patientId }) => ({ patientId }),
    holdUntil: ({ status }) => isOver(status),
    find: async ({ tenant, params }) => {
      const { details, revision } = await getReview(pool, tenant, params.id)
      return { body: details, revision }
    },
  })
}

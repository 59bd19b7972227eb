import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { camelPage, camelPageMembers, listQuery, pageRequest } from '../../platform/http/cursors.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery, orgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { heldRecord } from '../../platform/http/waiting.ts'
import { AiReviewDetails, AiReviewRecord, AiReviewStatus, isOver } from '../../contracts/ai-review/record.ts'
import type { ReadDependencies } from '../read-route.ts'
import { getReview, listReviews, toReviewRecord } from './queries.ts'

export const AiReviewPage = Type.Object(
  { data: Type.Array(AiReviewRecord), ...camelPageMembers() },
  { $id: 'AiReviewPage' },
)

const access = { scopes: ['ai-review:read'] } as const
const servedBy = ['ai_reviews']

export function aiReviewReadRoutes(app: ServiceApp, { pool, cursors }: ReadDependencies): void {
  app.get(
    '/ai-reviews',
    {
      schema: {
        operationId: 'listAiReviews',
        summary: 'AI reviews of the organisation, newest first',
        querystring: Type.Object(
          {
            ...orgQuery,
            ...listQuery,
            caseId: Type.Optional(Uuid),
            productId: Type.Optional(Uuid),
            status: Type.Optional(AiReviewStatus),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: AiReviewPage }, ['invalid-cursor', 'expired-cursor']),
      },
      config: { access, servedBy },
    },
    async (request, reply) => {
      const { caller, query } = request
      const org = tenantOf(caller, namedOrg(query))
      const filters = {
        caseId: query.caseId?.toLowerCase(),
        productId: query.productId?.toLowerCase(),
        status: query.status,
      }
      const list = { list: 'ai-reviews', orgId: org, sort: '-created_at', filters }
      const asked = pageRequest(cursors, list, query)
      return camelPage(reply, {
        cursors,
        list,
        request: asked,
        rows: await listReviews(pool, org, filters, asked.after, asked.fetch),
        placeOf: (row) => [row.created_at.toISOString(), row.ai_review_id],
        toItem: toReviewRecord,
      })
    },
  )

  app.get(
    '/ai-reviews/:id',
    {
      schema: {
        operationId: 'getAiReview',
        summary: 'An AI review with its images, result and lesions',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: AiReviewDetails }),
      },
      config: { access, servedBy, hasEtag: true, takesWait: true },
    },
    async ({ caller, params, query }, reply) => {
      const org = tenantOf(caller, namedOrg(query))
      const { details, revision } = await heldRecord(
        reply,
        () => getReview(pool, org, params.id),
        ({ details }) => isOver(details.status),
      )
      return found(reply, { body: details, revision })
    },
  )
}

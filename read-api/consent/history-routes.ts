import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { listQuery, page, pageMembers, pageRequest } from '../../platform/http/cursors.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery, orgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { signReceipt } from '../../contracts/consent/receipt.ts'
import { ConsentDecisionRecord } from '../../contracts/consent/record.ts'
import type { ReadDependencies } from '../dependencies.ts'
import {
  getDecision,
  getDecisionWithLocale,
  listDecisions,
  placeOfDecision,
  toDecisionRecord,
} from './decision-queries.ts'

export const ConsentHistoryPage = Type.Object(
  { data: Type.Array(ConsentDecisionRecord), ...pageMembers() },
  { $id: 'ConsentHistoryPage' },
)

export const ConsentReceiptReply = Type.Object(
  { receipt: Type.String({ description: 'Compact JWS; its keys are in /v1/auth/.well-known/jwks.json' }) },
  { $id: 'ConsentReceiptReply' },
)

const access = { consentScope: 'consents:read' } as const

/** Every decision that a patient ever made, one by one, and the proof of each. */
export function historyRoutes(app: ServiceApp, { pool, cursors, configuration, vault, now }: ReadDependencies): void {
  app.get(
    '/patients/:patientId/consents/history',
    {
      schema: {
        operationId: 'listConsentHistory',
        summary: "All of a patient's decisions, newest first",
        params: Type.Object({ patientId: Uuid }),
        querystring: Type.Object(
          {
            ...orgQuery,
            ...listQuery,
            type: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Code of a consent type' })),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: ConsentHistoryPage }, ['invalid-cursor', 'expired-cursor']),
      },
      config: { access, servedBy: ['consent_records'] },
    },
    async (request, reply) => {
      const { caller, params, query } = request
      const org = tenantOf(caller, namedOrg(query))
      const filters = { patientId: params.patientId.toLowerCase(), type: query.type }
      const list = { list: 'consent-history', orgId: org, sort: '-recorded_at', filters }
      const asked = pageRequest(cursors, list, query)
      const rows = await listDecisions(pool, org, params.patientId, {
        code: query.type ?? null,
        after: asked.after,
        limit: asked.fetch,
      })
      return page(reply, { cursors, list, request: asked, rows, placeOf: placeOfDecision, toItem: toDecisionRecord })
    },
  )

  app.get(
    '/patients/:patientId/consents/:id',
    {
      schema: {
        operationId: 'getConsentDecision',
        summary: 'One decision of a patient',
        description: 'As the POST that recorded it answered. A decision never changes.',
        params: Type.Object({ patientId: Uuid, id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: ConsentDecisionRecord }),
      },
      config: { access, servedBy: ['consent_records'], hasEtag: true },
    },
    async ({ caller, params, query }, reply) => {
      const org = tenantOf(caller, namedOrg(query))
      const { record, revision } = await getDecision(pool, org, params.patientId, params.id)
      return found(reply, { body: record, revision })
    },
  )

  app.get(
    '/patients/:patientId/consents/:id/receipt',
    {
      schema: {
        operationId: 'getConsentReceipt',
        summary: 'A signed receipt of one decision',
        description:
          'States the record, the hash and locale of its text, and when it was issued. `npm run platform -- verify receipt` verifies it offline.',
        params: Type.Object({ patientId: Uuid, id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: ConsentReceiptReply }),
      },
      config: { access, servedBy: ['consent_records', 'consent_types'] },
    },
    async (request) => {
      const { caller, params, query } = request
      const org = tenantOf(caller, namedOrg(query))
      const { record, locale } = await getDecisionWithLocale(pool, org, params.patientId, params.id)
      return {
        receipt: await signReceipt(vault, {
          issuer: `${configuration.baseUrl}/v1/consent`,
          record,
          locale,
          now: now(),
        }),
      }
    },
  )
}

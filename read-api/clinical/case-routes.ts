import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { listQuery, page, pageMembers, pageRequest } from '../../platform/http/cursors.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery, orgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { CaseRecord, toCaseRecord } from '../../contracts/clinical/cases.ts'
import { casesProjector } from '../../projections/clinical/cases.projector.ts'
import { requireCurrent, wantsCurrent } from '../read-route.ts'
import type { ReadDependencies } from '../read-route.ts'
import { getCase, listCases, placeOfCase } from './case-queries.ts'

const CasePage = Type.Object({ data: Type.Array(CaseRecord), ...pageMembers() }, { $id: 'CasePage' })

const access = { scopes: ['cases:read'] } as const
const servedBy = ['cases']

export function caseReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool, cursors } = deps

  app.get(
    '/cases',
    {
      schema: {
        operationId: 'listCases',
        summary: 'Cases of the organisation, or of one of its patients, newest first',
        querystring: Type.Object(
          { ...orgQuery, ...listQuery, patient_id: Type.Optional(Uuid) },
          { additionalProperties: false },
        ),
        response: answers({ 200: CasePage }, ['invalid-cursor', 'expired-cursor']),
      },
      config: { access, servedBy },
    },
    async (request, reply) => {
      const { caller, query } = request
      const org = tenantOf(caller, namedOrg(query))
      const filters = { patientId: query.patient_id?.toLowerCase() }
      const list = { list: 'cases', orgId: org, sort: '-created_at', filters }
      const asked = pageRequest(cursors, list, query)
      const rows = await listCases(pool, org, filters, asked.after, asked.fetch)
      return page(reply, { cursors, list, request: asked, rows, placeOf: placeOfCase, toItem: toCaseRecord })
    },
  )

  app.get(
    '/cases/:id',
    {
      schema: {
        operationId: 'getCase',
        summary: 'A case',
        description: 'With `Cache-Control: no-cache` answers only when the read model is up to date; else 503.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: CaseRecord }, ['read-model-behind', 'event-store-unavailable']),
      },
      config: { access, servedBy, hasEtag: true },
    },
    async ({ caller, headers, params, query }, reply) => {
      const org = tenantOf(caller, namedOrg(query))
      if (wantsCurrent(headers['cache-control'])) await requireCurrent(deps, casesProjector)
      const opened = await getCase(pool, org, params.id)
      return found(reply, { body: toCaseRecord(opened), revision: opened.revision })
    },
  )
}

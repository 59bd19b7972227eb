import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { CaseRecord, toCaseRecord } from '../../platform/records/cases.ts'
import { requireCurrent, wantsCurrent } from '../current.ts'
import type { ReadDependencies } from '../dependencies.ts'
import { getCase } from './case-queries.ts'

export function caseReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool } = deps

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
      config: { access: { scopes: ['cases:read'] }, servedBy: ['cases'], hasEtag: true },
    },
    async ({ caller, headers, params, query }, reply) => {
      const org = tenantOf(caller, namedOrg(query))
      if (wantsCurrent(headers['cache-control'])) await requireCurrent(deps, 'cases')
      const opened = await getCase(pool, org, params.id)
      return found(reply, { body: toCaseRecord(opened), revision: opened.revision })
    },
  )
}

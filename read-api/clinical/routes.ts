import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { listQuery, page, pageMembers, pageRequest } from '../../platform/http/cursors.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery, orgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { BodySiteRecord, bodySites } from '../../platform/records/body-sites.ts'
import { CaseRecord, PatientRecord, toCaseRecord, toPatientRecord } from '../../platform/records/clinical.ts'
import { requireCurrent, wantsCurrent } from '../current.ts'
import type { ReadDependencies } from '../dependencies.ts'
import { getCase, getPatient } from './queries.ts'

const BodySitePage = Type.Object({ data: Type.Array(BodySiteRecord), ...pageMembers() }, { $id: 'BodySitePage' })

export function clinicalReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool, cursors } = deps

  app.get(
    '/body-sites',
    {
      schema: {
        operationId: 'listBodySites',
        summary: 'The catalogue of body sites, the whole before its parts',
        querystring: Type.Object({ ...orgQuery, ...listQuery }, { additionalProperties: false }),
        response: answers({ 200: BodySitePage }, ['invalid-cursor', 'expired-cursor']),
      },
      config: { access: 'token' },
    },
    async (request, reply) => {
      const { caller, query } = request
      const list = { list: 'body-sites', orgId: tenantOf(caller, namedOrg(query)), sort: 'catalogue', filters: {} }
      const asked = pageRequest(cursors, list, query)
      const begin = asked.after === null ? 0 : bodySites.findIndex(({ id }) => id === asked.after?.[0]) + 1
      const rows = bodySites.slice(begin, begin + asked.fetch)
      return page(reply, { cursors, list, request: asked, rows, placeOf: ({ id }) => [id], toItem: (site) => site })
    },
  )

  app.get(
    '/patients/:id',
    {
      schema: {
        operationId: 'getPatient',
        summary: 'A patient',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: PatientRecord }),
      },
      config: { access: { scopes: ['patients:read'] }, servedBy: ['patients'], hasEtag: true },
    },
    async ({ caller, params, query }, reply) => {
      const patient = await getPatient(pool, tenantOf(caller, namedOrg(query)), params.id)
      return found(reply, { body: toPatientRecord(patient), revision: patient.revision })
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

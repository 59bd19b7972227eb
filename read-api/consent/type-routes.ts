import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { camelPage, camelPageMembers, listQuery, listQueryUpTo, pageRequest } from '../../platform/http/cursors.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery, orgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { ConsentTextVersionRecord, ConsentTypeRecord } from '../../contracts/consent/record.ts'
import type { ReadDependencies } from '../dependencies.ts'
import {
  getConsentType,
  listConsentTypes,
  listTextVersions,
  latestTextVersions,
  placeOfTextVersion,
  toConsentTypeRecord,
  toTextVersionRecord,
} from './type-queries.ts'

export const ConsentTypePage = Type.Object(
  { data: Type.Array(ConsentTypeRecord), ...camelPageMembers() },
  { $id: 'ConsentTypePage' },
)

export const ConsentTypeDetails = Type.Object(
  { ...ConsentTypeRecord.properties, textVersions: Type.Array(ConsentTextVersionRecord) },
  { $id: 'ConsentTypeDetails' },
)

export const ConsentTextVersionPage = Type.Object(
  { data: Type.Array(ConsentTextVersionRecord), ...camelPageMembers() },
  { $id: 'ConsentTextVersionPage' },
)

/** In one answer. A text has 100,000 characters at most. */
const mostTextVersions = 50

const adminAccess = { admin: 'consents:admin' } as const
const types = ['consent_types']

export function typeReadRoutes(app: ServiceApp, { pool, cursors }: ReadDependencies): void {
  app.get(
    '/admin/consent-types',
    {
      schema: {
        operationId: 'listConsentTypes',
        summary: 'Consent types of the organisation, by code',
        querystring: Type.Object({ ...orgQuery, ...listQuery }, { additionalProperties: false }),
        response: answers({ 200: ConsentTypePage }, ['invalid-cursor', 'expired-cursor']),
      },
      config: { access: adminAccess, servedBy: types },
    },
    async (request, reply) => {
      const { caller, query } = request
      const org = tenantOf(caller, namedOrg(query))
      const list = { list: 'consent-types', orgId: org, sort: 'code', filters: {} }
      const asked = pageRequest(cursors, list, query)
      const rows = await listConsentTypes(pool, org, asked.after, asked.fetch)
      return camelPage(reply, {
        cursors,
        list,
        request: asked,
        rows,
        placeOf: (row) => [row.code],
        toItem: toConsentTypeRecord,
      })
    },
  )

  app.get(
    '/admin/consent-types/:id',
    {
      schema: {
        operationId: 'getConsentType',
        summary: 'A consent type with its text versions',
        description: `Of more than ${mostTextVersions} text versions, the answer has the newest. The list of text versions has all.`,
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: ConsentTypeDetails }),
      },
      config: { access: adminAccess, servedBy: types, hasEtag: true },
    },
    async (request, reply) => {
      const { caller, params, query } = request
      const org = tenantOf(caller, namedOrg(query))
      // In this order: a version that is published between the two is shown under the ETag of before, never withheld by a 304.
      const type = await getConsentType(pool, org, params.id)
      const versions = await latestTextVersions(pool, org, params.id, mostTextVersions)
      const body = { ...toConsentTypeRecord(type), textVersions: versions.map(toTextVersionRecord) }
      return found(reply, { body, revision: BigInt(type.stream_revision) })
    },
  )

  app.get(
    '/admin/consent-types/:typeId/text-versions',
    {
      schema: {
        operationId: 'listConsentTextVersions',
        summary: 'Text versions of a consent type, oldest first',
        params: Type.Object({ typeId: Uuid }),
        querystring: Type.Object({ ...orgQuery, ...listQueryUpTo(mostTextVersions) }, { additionalProperties: false }),
        response: answers({ 200: ConsentTextVersionPage }, ['invalid-cursor', 'expired-cursor']),
      },
      config: { access: adminAccess, servedBy: types },
    },
    async (request, reply) => {
      const { caller, params, query } = request
      const org = tenantOf(caller, namedOrg(query))
      await getConsentType(pool, org, params.typeId)
      const list = {
        list: 'consent-text-versions',
        orgId: org,
        sort: 'created_at',
        filters: { typeId: params.typeId.toLowerCase() },
      }
      const asked = pageRequest(cursors, list, query, mostTextVersions)
      const rows = await listTextVersions(pool, org, params.typeId, asked.after, asked.fetch)
      return camelPage(reply, {
        cursors,
        list,
        request: asked,
        rows,
        placeOf: placeOfTextVersion,
        toItem: toTextVersionRecord,
      })
    },
  )
}

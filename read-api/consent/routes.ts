import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { camelPage, camelPageMembers, listQuery, pageRequest } from '../../platform/http/cursors.ts'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery, orgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/problems.ts'
import { ConsentDecisionRecord, ConsentTextVersionRecord, ConsentTypeRecord } from '../../platform/records/consent.ts'
import { requireCurrent } from '../current.ts'
import type { ReadDependencies } from '../dependencies.ts'
import {
  getConsentType,
  getConsentTypeByCode,
  latestDecisions,
  listConsentTypes,
  listTextVersions,
  placeOfTextVersion,
  toConsentTypeRecord,
  toTextVersionRecord,
} from './queries.ts'

export const ConsentStatusReply = Type.Object(
  {
    granted: Type.Boolean(),
    decision: Nullable(Type.Enum(['granted', 'denied', 'withdrawn'])),
    recorded_at: Nullable(Instant),
    text_version_id: Nullable(Uuid),
  },
  { $id: 'ConsentStatusReply' },
)

export const ConsentCheckReply = Type.Object(
  { consents: Type.Record(Type.String(), Type.Boolean()) },
  { $id: 'ConsentCheckReply' },
)

/** T1. */
export const ConsentRecordsReply = Type.Object(
  {
    status: Type.Enum(['granted', 'denied', 'withdrawn', 'none']),
    granted: Type.Boolean(),
    patientId: Uuid,
    consentTypeCode: Type.String(),
    record: Nullable(ConsentDecisionRecord),
    data: Type.Array(ConsentDecisionRecord),
  },
  { $id: 'ConsentRecordsReply' },
)

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

const mostCodes = 50
const adminAccess = { admin: 'consents:admin' } as const
const types = ['consent_types']
const decisions = ['consent_records', 'consent_types']

export function consentReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool, cursors } = deps

  app.get(
    '/patients/:patientId/consents/:typeCode/status',
    {
      schema: {
        operationId: 'getConsentStatus',
        summary: "A patient's current decision on one consent type",
        params: Type.Object({ patientId: Uuid, typeCode: Type.String() }),
        querystring: OrgQuery,
        response: answers({ 200: ConsentStatusReply }),
      },
      config: { access: 'token', servedBy: decisions },
    },
    async (request) => {
      const { caller, params, query } = request
      const org = tenantOf(caller, namedOrg(query))
      const { code } = await getConsentTypeByCode(pool, org, params.typeCode)
      const record = (await latestDecisions(pool, org, params.patientId, [code])).get(code)
      if (record === undefined) return { granted: false, decision: null, recorded_at: null, text_version_id: null }
      const { decision, recorded_at, text_version_id } = record
      return { granted: decision === 'granted', decision, recorded_at, text_version_id }
    },
  )

  app.get(
    '/patients/:patientId/consents/check',
    {
      schema: {
        operationId: 'checkConsents',
        summary: 'Whether a patient has granted each of several consent types',
        params: Type.Object({ patientId: Uuid }),
        querystring: Type.Object(
          { ...orgQuery, types: Type.String({ maxLength: 4096, description: 'Type codes, separated by commas, at most 50' }) },
          { additionalProperties: false },
        ),
        response: answers({ 200: ConsentCheckReply }),
      },
      config: { access: 'token', servedBy: decisions },
    },
    async (request) => {
      const { caller, params, query } = request
      const org = tenantOf(caller, namedOrg(query))
      const codes = [...new Set(query.types.split(',').map((code) => code.trim()).filter((code) => code !== ''))]
      if (codes.length === 0 || codes.length > mostCodes) {
        throw problem('validation-failed', {
          errors: [{ pointer: '/types', detail: 'must name 1 to 50 consent type codes', code: 'count' }],
        })
      }
      const latest = await latestDecisions(pool, org, params.patientId, codes)
      return { consents: Object.fromEntries(codes.map((code) => [code, latest.get(code)?.decision === 'granted'])) }
    },
  )

  app.get(
    '/consent-records',
    {
      schema: {
        operationId: 'getConsentRecords',
        summary: "A patient's current decision, certain to be up to date",
        description: 'Answers only when the read model contains everything recorded before the request; else 503.',
        querystring: Type.Object(
          { ...orgQuery, patientId: Uuid, consentTypeCode: Type.String({ minLength: 1, maxLength: 64 }) },
          { additionalProperties: false },
        ),
        response: answers({ 200: ConsentRecordsReply }, ['read-model-behind', 'event-store-unavailable']),
      },
      config: { access: 'token' },
    },
    async (request) => {
      const { caller, query } = request
      const org = tenantOf(caller, namedOrg(query))
      await requireCurrent(deps, 'consent_records')
      const { patientId, consentTypeCode } = query
      const record = (await latestDecisions(pool, org, patientId, [consentTypeCode])).get(consentTypeCode)
      return {
        status: record?.decision ?? ('none' as const),
        granted: record?.decision === 'granted',
        patientId: patientId.toLowerCase(),
        consentTypeCode,
        record: record ?? null,
        data: record === undefined ? [] : [record],
      }
    },
  )

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
      return camelPage(reply, { cursors, list, request: asked, rows, placeOf: (row) => [row.code], toItem: toConsentTypeRecord })
    },
  )

  app.get(
    '/admin/consent-types/:id',
    {
      schema: {
        operationId: 'getConsentType',
        summary: 'A consent type with its text versions',
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
      const versions = await listTextVersions(pool, org, params.id, null, null)
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
        querystring: Type.Object({ ...orgQuery, ...listQuery }, { additionalProperties: false }),
        response: answers({ 200: ConsentTextVersionPage }, ['invalid-cursor', 'expired-cursor']),
      },
      config: { access: adminAccess, servedBy: types },
    },
    async (request, reply) => {
      const { caller, params, query } = request
      const org = tenantOf(caller, namedOrg(query))
      await getConsentType(pool, org, params.typeId)
      const list = { list: 'consent-text-versions', orgId: org, sort: 'created_at', filters: { typeId: params.typeId.toLowerCase() } }
      const asked = pageRequest(cursors, list, query)
      const rows = await listTextVersions(pool, org, params.typeId, asked.after, asked.fetch)
      return camelPage(reply, { cursors, list, request: asked, rows, placeOf: placeOfTextVersion, toItem: toTextVersionRecord })
    },
  )
}

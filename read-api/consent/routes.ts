import { Type } from 'typebox'
import { ConsentTextVersionRecord, ConsentTypeRecord } from '../../contracts/consent/record.ts'
import { toRecord } from '../../contracts/records.ts'
import { Uuid } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import {
  consentTypesProjector,
  type consentTypesTable,
  type textVersionsTable,
} from '../../projections/consent/consent-types.projector.ts'
import type { ViewOf } from '../../projections/runtime/projector.ts'
import { listRoute } from '../list-route.ts'
import { readRoute, type ReadDependencies } from '../read-route.ts'
import { decisionReadRoutes } from './decision-routes.ts'
import {
  getConsentType,
  latestTextVersions,
  listConsentTypes,
  listTextVersions,
  placeOfTextVersion,
  placeOfType,
} from './queries.ts'
import { standingRoutes } from './standing-routes.ts'

const ConsentTypeDetails = Type.Object(
  { ...ConsentTypeRecord.properties, textVersions: Type.Array(ConsentTextVersionRecord) },
  { $id: 'ConsentTypeDetails' },
)

/** In one answer. A text has 100,000 characters at most. */
const mostTextVersions = 50

const shared = { access: { admin: 'consents:admin' }, servedBy: [consentTypesProjector] } as const

function typeRecord(view: ViewOf<typeof consentTypesTable>): ConsentTypeRecord {
  return toRecord(ConsentTypeRecord, { ...view, id: view.consentTypeId, organisationId: view.orgId })
}

function textVersionRecord(view: ViewOf<typeof textVersionsTable>): ConsentTextVersionRecord {
  return toRecord(ConsentTextVersionRecord, { ...view, id: view.textVersionId })
}

export function consentReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool } = deps
  standingRoutes(app, deps)
  decisionReadRoutes(app, deps)

  listRoute(app, deps, {
    ...shared,
    path: '/admin/consent-types',
    operationId: 'listConsentTypes',
    summary: 'Consent types of the organisation, by code',
    list: 'consent-types',
    sort: 'code',
    pageName: 'ConsentTypePage',
    item: ConsentTypeRecord,
    casing: 'camel',
    rows: ({ tenant }, page) => listConsentTypes(pool, tenant, page),
    placeOf: placeOfType,
    toItem: typeRecord,
  })

  readRoute(app, {
    ...shared,
    path: '/admin/consent-types/:id',
    operationId: 'getConsentType',
    summary: 'A consent type with its text versions',
    description: `Of more than ${mostTextVersions} text versions, the answer has the newest. The list of text versions has all.`,
    params: { id: Uuid },
    reply: ConsentTypeDetails,
    find: async ({ tenant, params }) => {
      // In this order: a version that is published between the two is shown under the ETag of before, never withheld by a 304.
      const type = await getConsentType(pool, tenant, params.id)
      const versions = await latestTextVersions(pool, tenant, params.id, mostTextVersions)
      const body = { ...typeRecord(type), textVersions: versions.map(textVersionRecord) }
      return { body, revision: BigInt(type.streamRevision) }
    },
  })

  listRoute(app, deps, {
    ...shared,
    path: '/admin/consent-types/:typeId/text-versions',
    operationId: 'listConsentTextVersions',
    summary: 'Text versions of a consent type, oldest first',
    params: { typeId: Uuid },
    list: 'consent-text-versions',
    sort: 'created_at',
    pageName: 'ConsentTextVersionPage',
    item: ConsentTextVersionRecord,
    casing: 'camel',
    greatestPage: mostTextVersions,
    rows: async ({ tenant, params }, page) => {
      await getConsentType(pool, tenant, params.typeId)
      return listTextVersions(pool, tenant, params.typeId, page)
    },
    placeOf: placeOfTextVersion,
    toItem: textVersionRecord,
  })
}

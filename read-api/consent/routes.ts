import { Type } from 'typebox'
import { ConsentTextVersionRecord, ConsentTypeRecord } from '../../contracts/consent/record.ts'
import { toRecord } from '../../engine/reads/records.ts'
import { greatestPageBytes, itemsWithin } from '../../platform/http/cursors.ts'
import { Uuid } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import {
  consentTypesProjector,
  type consentTypesTable,
  type textVersionsTable,
} from '../../projections/consent/consent-types.projector.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { decisionReadRoutes } from './decision-routes.ts'
import {
  getConsentType,
  latestTextVersions,
  listConsentTypes,
  listTextVersions,
  placeOfTextVersion,
  placeOfType,
} from './queries.ts'
import { decisionInForceRoutes } from './decision-in-force-routes.ts'

const ConsentTypeDetails = Type.Object(
  {
    ...ConsentTypeRecord.properties,
    textVersions: Type.Array(ConsentTextVersionRecord),
    hasMoreTextVersions: Type.Boolean({ description: 'Whether the list of text versions contains older ones' }),
  },
  { $id: 'ConsentTypeDetails' },
)

/** Most text versions in one answer. A text has at most 100,000 characters. */
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
  decisionInForceRoutes(app, deps)
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
    description: `Contains the newest text versions, oldest first: at most ${mostTextVersions}, and fewer where they would exceed 2 MiB. The list of text versions contains all.`,
    params: { id: Uuid },
    reply: ConsentTypeDetails,
    find: async ({ tenant, params }) => {
      // In this order. A version published between the two reads gets the older ETag. So no 304 hides it.
      const type = await getConsentType(pool, tenant, params.id)
      const { rows, hasMore } = await latestTextVersions(pool, tenant, params.id, mostTextVersions)
      const textVersions = itemsWithin(greatestPageBytes, rows, textVersionRecord)
      const hasMoreTextVersions = hasMore || textVersions.length < rows.length
      const body = { ...typeRecord(type), textVersions: textVersions.toReversed(), hasMoreTextVersions }
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

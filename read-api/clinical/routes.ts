import { Type } from 'typebox'
import { BodySiteRecord, bodySites } from '../../contracts/clinical/body-sites.ts'
import { PatientRecord, toPatientRecord } from '../../contracts/clinical/patients.ts'
import { Uuid, schemeAndValuePattern } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { patientsProjector } from '../../projections/clinical/patients.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { atRevision, readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { caseReadRoutes } from './case-routes.ts'
import { getPatient, listPatients, placeOfPatient } from './queries.ts'

/** Scheme and value have 1 to 255 characters each. */
const identifier = Type.String({
  pattern: schemeAndValuePattern,
  maxLength: 511,
  description: '`scheme|value`. Both are compared in NFC, without surrounding blanks',
})

const ofPatients = { access: { scopes: ['patients:read'] }, servedBy: [patientsProjector] } as const

export function clinicalReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  caseReadRoutes(app, deps)

  listRoute(app, deps, {
    path: '/body-sites',
    operationId: 'listBodySites',
    summary: 'The catalogue of body sites, each before its parts',
    access: 'token',
    servedBy: [],
    list: 'body-sites',
    sort: 'catalogue',
    pageName: 'BodySitePage',
    item: BodySiteRecord,
    rows: async (_, { after, limit }) => {
      const begin = after === null ? 0 : bodySites.findIndex(({ id }) => id === after[0]) + 1
      const end = begin + limit
      return { rows: bodySites.slice(begin, end), hasMore: end < bodySites.length }
    },
    placeOf: ({ id }) => [id],
    toItem: (site) => site,
  })

  listRoute(app, deps, {
    ...ofPatients,
    path: '/patients',
    operationId: 'listPatients',
    summary: 'The patients with an identifier',
    description: 'Finds patients by an identifier. No route lists all patients.',
    query: { identifier },
    list: 'patients',
    sort: 'registered_at',
    pageName: 'PatientPage',
    item: PatientRecord,
    rows: ({ tenant, query }, page) => listPatients(deps, tenant, query.identifier, page),
    placeOf: placeOfPatient,
    toItem: toPatientRecord,
    shows: ({ patientId }) => ({ patientId }),
  })

  readRoute(app, {
    ...ofPatients,
    path: '/patients/:id',
    operationId: 'getPatient',
    summary: 'A patient',
    params: { id: Uuid },
    reply: PatientRecord,
    shows: ({ id: patientId }) => ({ patientId }),
    find: async ({ tenant, params }) => atRevision(await getPatient(deps, tenant, params.id), toPatientRecord),
  })
}

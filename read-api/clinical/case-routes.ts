import { Type } from 'typebox'
import { CaseRecord, toCaseRecord } from '../../contracts/clinical/cases.ts'
import {
  DiagnosisRecord,
  FindingRecord,
  toDiagnosisRecord,
  toFindingRecord,
} from '../../contracts/clinical/findings.ts'
import type { PageRows } from '../../platform/http/cursors.ts'
import { Uuid } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { casesProjector } from '../../projections/clinical/cases.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { readRoute, requireCurrent, wantsCurrent, type ReadDependencies } from '../../engine/reads/read-route.ts'
import {
  getCase,
  listCases,
  listDiagnoses,
  listFindings,
  patientOfCase,
  placeOfCase,
  placeOfDiagnosis,
  placeOfFinding,
} from './queries.ts'

const shared = { access: { scopes: ['cases:read'] }, servedBy: [casesProjector] } as const

/** Cases, with their findings and diagnoses. */
export function caseReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool } = deps

  listRoute(app, deps, {
    ...shared,
    path: '/cases',
    operationId: 'listCases',
    summary: 'Cases of the organisation, or of one of its patients, newest first',
    query: { patient_id: Type.Optional(Uuid), status: Type.Optional(CaseRecord.properties.status) },
    list: 'cases',
    sort: '-created_at',
    pageName: 'CasePage',
    item: CaseRecord,
    rows: ({ tenant, filters }, page) => listCases(deps, tenant, filters, page),
    placeOf: placeOfCase,
    toItem: toCaseRecord,
    shows: ({ patientId }) => ({ patientId }),
  })

  readRoute(app, {
    ...shared,
    path: '/cases/:id',
    operationId: 'getCase',
    summary: 'A case',
    description: 'With `Cache-Control: no-cache` the answer is up to date, or a 503.',
    params: { id: Uuid },
    reply: CaseRecord,
    shows: ({ patient_id: patientId }) => ({ patientId }),
    find: async ({ tenant, params, headers }) => {
      if (wantsCurrent(headers['cache-control'])) await requireCurrent(deps, casesProjector)
      const opened = await getCase(deps, tenant, params.id)
      return { body: toCaseRecord(opened), revision: BigInt(opened.streamRevision) }
    },
  })

  listRoute(app, deps, {
    ...shared,
    path: '/cases/:id/findings',
    operationId: 'listFindings',
    summary: 'The findings of a case, oldest first: one for each lesion of each completed AI review',
    params: { id: Uuid },
    list: 'findings',
    sort: 'created_at',
    idOf: 'caseId',
    pageName: 'FindingPage',
    item: FindingRecord,
    rows: async ({ tenant, params }, page) => {
      const patientId = await patientOfCase(pool, tenant, params.id)
      return ofPatient(patientId, await listFindings(pool, tenant, params.id, page))
    },
    placeOf: placeOfFinding,
    toItem: toFindingRecord,
    shows: ({ patientId }) => ({ patientId }),
  })

  listRoute(app, deps, {
    ...shared,
    path: '/cases/:id/diagnoses',
    operationId: 'listDiagnoses',
    summary: 'The diagnoses of a case, oldest first: one of the AI for each finding, and those of clinicians',
    description:
      'A clinician who confirms or corrects a diagnosis of the AI adds one to the same finding. The diagnosis of the AI is `superseded` if it was corrected or rejected, or if another AI review replaced its review. Findings and diagnoses of clinicians stay.',
    params: { id: Uuid },
    list: 'diagnoses',
    sort: 'created_at',
    idOf: 'caseId',
    pageName: 'DiagnosisPage',
    item: DiagnosisRecord,
    rows: async ({ tenant, params }, page) => {
      const patientId = await patientOfCase(pool, tenant, params.id)
      return ofPatient(patientId, await listDiagnoses(deps, tenant, params.id, page))
    },
    placeOf: (row) => placeOfDiagnosis(row),
    toItem: (row) => toDiagnosisRecord(row),
    shows: ({ patientId }) => ({ patientId }),
  })
}

/** Records of a case do not name its patient. */
function ofPatient<Row>(patientId: string, { rows, hasMore }: PageRows<Row>) {
  return { rows: rows.map((row) => ({ ...row, patientId })), hasMore }
}

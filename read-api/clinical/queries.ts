import type { Pool } from '../../platform/database/database.ts'
import { comparedName } from '../../platform/kit/compared-name.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  casesProjector,
  casesTable,
  diagnosesTable,
  findingsTable,
} from '../../projections/clinical/cases.projector.ts'
import {
  patientIdentifiersTable,
  patientsProjector,
  patientsTable,
} from '../../projections/clinical/patients.projector.ts'
import {
  filtered,
  pageOf,
  rowsOf,
  rowsOfTenant,
  sortOrder,
  tableOf,
  viewByIds,
  type Filters,
} from '../../engine/reads/tenant-rows.ts'

const p = tableOf(patientsProjector, patientsTable, 'p')
const i = tableOf(patientsProjector, patientIdentifiersTable, 'i')
const c = tableOf(casesProjector, casesTable, 'c')
const f = tableOf(casesProjector, findingsTable, 'f')
const d = tableOf(casesProjector, diagnosesTable, 'd')

export const getPatient = viewByIds((tenant: TenantId, id: string) => rowsOfTenant(p, tenant).where(p.patientId, id))

/** Every split of `scheme|value`. Both parts may contain a `|`. */
function readingsOf(identifier: string): { readonly schemes: readonly string[]; readonly values: readonly string[] } {
  const places = [...identifier.matchAll(/\|/g)].map(({ index }) => index)
  return {
    schemes: places.map((place) => comparedName(identifier.slice(0, place))),
    values: places.map((place) => comparedName(identifier.slice(place + 1))),
  }
}

const patientsInOrder = sortOrder('asc', p.registeredAt, p.patientId)
export const { placeOf: placeOfPatient } = patientsInOrder

/** The patients with the identifier `scheme|value`, oldest first. */
export async function listPatients(pool: Pool, tenant: TenantId, identifier: string, page: PageRequest) {
  const { schemes, values } = readingsOf(identifier)
  const found = rowsOf(i, { patientId: i.patientId })
    .joinRaw('join unnest(?::text[], ?::text[]) as asked(scheme, value) on ?? = asked.scheme and ?? = asked.value', [
      schemes,
      values,
      i.scheme,
      i.value,
    ])
    .where(i.orgId, tenant)
  const patients = rowsOfTenant(p, tenant).whereRaw('?? in (?)', [p.patientId, found])
  return pageOf(pool, patientsInOrder, patients, page)
}

export const getCase = viewByIds((tenant: TenantId, id: string) => rowsOfTenant(c, tenant).where(c.caseId, id))

const casesInOrder = sortOrder('desc', c.openedAt, c.caseId)
export const { placeOf: placeOfCase } = casesInOrder

/** Newest first. */
export async function listCases(pool: Pool, tenant: TenantId, filters: Filters<typeof casesTable>, page: PageRequest) {
  const cases = filtered(rowsOfTenant(c, tenant), c, filters)
  return pageOf(pool, casesInOrder, cases, page)
}

const findingsInOrder = sortOrder('asc', f.createdAt, { column: f.lesionNumber, ifNull: 0 }, f.findingId)
export const { placeOf: placeOfFinding } = findingsInOrder

/** Oldest first, those of one review by lesion. */
export async function listFindings(pool: Pool, tenant: TenantId, caseId: string, page: PageRequest) {
  const findings = rowsOfTenant(f, tenant).where(f.caseId, caseId)
  return pageOf(pool, findingsInOrder, findings, page)
}

const diagnosesInOrder = sortOrder('asc', d.createdAt, { column: d.lesionNumber, ifNull: 0 }, d.diagnosisId)
export const { placeOf: placeOfDiagnosis } = diagnosesInOrder

/** Oldest first, those of one review by lesion. */
export async function listDiagnoses(pool: Pool, tenant: TenantId, caseId: string, page: PageRequest) {
  const diagnoses = rowsOfTenant(d, tenant).where(d.caseId, caseId)
  return pageOf(pool, diagnosesInOrder, diagnoses, page)
}

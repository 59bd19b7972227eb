import { identifierKeyOf } from '../../contracts/clinical/identifier-key.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  casesProjector,
  casesTable,
  diagnosesTable,
  findingsTable,
} from '../../projections/clinical/cases.projector.ts'
import {
  identifierClaimsTable,
  patientsProjector,
  patientsTable,
} from '../../projections/clinical/patients.projector.ts'
import { opened, openedView, type OpeningReads } from '../../engine/reads/opened.ts'
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
const i = tableOf(patientsProjector, identifierClaimsTable, 'i')
const c = tableOf(casesProjector, casesTable, 'c')
const f = tableOf(casesProjector, findingsTable, 'f')
const d = tableOf(casesProjector, diagnosesTable, 'd')

const patientRow = viewByIds((tenant: TenantId, id: string) => rowsOfTenant(p, tenant).where(p.patientId, id))

export async function getPatient({ pool, vault }: OpeningReads, tenant: TenantId, id: string) {
  return openedView(vault, await patientRow(pool, tenant, id))
}

/** The keys of every split of `scheme|value`. Both parts may contain a `|`. */
function keysOf(identifier: string): string[] {
  return [...identifier.matchAll(/\|/g)].map(({ index }) =>
    identifierKeyOf({ scheme: identifier.slice(0, index), value: identifier.slice(index + 1) }),
  )
}

const patientsInOrder = sortOrder('asc', p.registeredAt, p.patientId)
export const { placeOf: placeOfPatient } = patientsInOrder

/** The patients with the identifier `scheme|value`, oldest first. A page may have fewer patients than rows. */
export async function listPatients(
  { pool, vault }: OpeningReads<'fingerprint'>,
  tenant: TenantId,
  identifier: string,
  page: PageRequest,
) {
  const keys = keysOf(identifier)
  const claimants = rowsOf(i, { patientId: i.patientId })
    .where(i.orgId, tenant)
    .whereRaw('?? = any(?::text[])', [i.identifierKey, keys.map((key) => vault.fingerprint(key))])
  const found = await pageOf(
    pool,
    patientsInOrder,
    rowsOfTenant(p, tenant).whereRaw('?? in (?)', [p.patientId, claimants]),
    page,
  )
  const rows = await opened(vault, found.rows)
  const last = rows.at(-1)
  const asked = new Set(keys)
  const isHeld = (each: Parameters<typeof identifierKeyOf>[0]) => asked.has(identifierKeyOf(each))
  return {
    ...found,
    rows: rows.filter(({ person }) => person?.identifiers.some(isHeld)),
    reached: last && placeOfPatient(last),
  }
}

const caseRow = viewByIds((tenant: TenantId, id: string) => rowsOfTenant(c, tenant).where(c.caseId, id))

export async function getCase({ pool, vault }: OpeningReads, tenant: TenantId, id: string) {
  return openedView(vault, await caseRow(pool, tenant, id))
}

/**
 * The patient of a case.
 * @throws Problem `not-found`
 */
export async function patientOfCase(pool: Pool, tenant: TenantId, id: string): Promise<string> {
  return (await caseRow(pool, tenant, id)).patientId
}

const casesInOrder = sortOrder('desc', c.openedAt, c.caseId)
export const { placeOf: placeOfCase } = casesInOrder

/** Newest first. */
export async function listCases(
  { pool, vault }: OpeningReads,
  tenant: TenantId,
  filters: Filters<typeof casesTable>,
  page: PageRequest,
) {
  const found = await pageOf(pool, casesInOrder, filtered(rowsOfTenant(c, tenant), c, filters), page)
  return { ...found, rows: await opened(vault, found.rows) }
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
export async function listDiagnoses(
  { pool, vault }: OpeningReads,
  tenant: TenantId,
  caseId: string,
  page: PageRequest,
) {
  const found = await pageOf(pool, diagnosesInOrder, rowsOfTenant(d, tenant).where(d.caseId, caseId), page)
  const diagnoses = await opened(vault, found.rows)
  return { ...found, rows: diagnoses.map(({ correction, ...diagnosis }) => ({ ...diagnosis, ...correction })) }
}

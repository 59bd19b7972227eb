import type { Pool } from '../../platform/database.ts'
import type { CaseView, PatientView } from '../../platform/records/clinical.ts'
import type { TenantId } from '../../platform/tenants.ts'
import { rowOf, type Found } from '../rows.ts'

interface PatientRow {
  patient_id: string
  given_name: string | null
  family_name: string | null
  dob: string | null
  identifiers: { scheme: string; value: string }[] | null
  registered_at: Date
  stream_revision: string
}

export async function getPatient(pool: Pool, org: TenantId, id: string): Promise<Found<PatientView>> {
  const row = await rowOf<PatientRow>(pool, 'select * from patients.patients where org_id = $1 and patient_id = $2', [org, id])
  return {
    patientId: row.patient_id,
    givenName: row.given_name,
    familyName: row.family_name,
    dob: row.dob,
    identifiers: row.identifiers,
    registeredAt: row.registered_at.toISOString(),
    revision: BigInt(row.stream_revision),
  }
}

interface CaseRow {
  case_id: string
  patient_id: string
  product_id: string | null
  external_reference: string | null
  opened_at: Date
  stream_revision: string
}

export async function getCase(pool: Pool, org: TenantId, id: string): Promise<Found<CaseView>> {
  const row = await rowOf<CaseRow>(pool, 'select * from cases.cases where org_id = $1 and case_id = $2', [org, id])
  return {
    caseId: row.case_id,
    patientId: row.patient_id,
    productId: row.product_id,
    externalReference: row.external_reference,
    openedAt: row.opened_at.toISOString(),
    revision: BigInt(row.stream_revision),
  }
}

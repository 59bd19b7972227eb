import type { Pool } from '../../platform/database.ts'
import type { PatientView } from '../../platform/records/patients.ts'
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

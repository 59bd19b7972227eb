import type { Pool } from '../../platform/database/database.ts'
import type { CursorPlace } from '../../platform/http/cursors.ts'
import type { PatientView } from '../../contracts/clinical/patients.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { rowOf, rowsOf, type Found } from '../rows.ts'

interface PatientRow {
  patient_id: string
  given_name: string | null
  family_name: string | null
  dob: string | null
  identifiers: { scheme: string; value: string }[] | null
  registered_at: Date
  updated_at: Date
  stream_revision: string
}

function toView(row: PatientRow): Found<PatientView> {
  return {
    patientId: row.patient_id,
    givenName: row.given_name,
    familyName: row.family_name,
    dob: row.dob,
    identifiers: row.identifiers,
    registeredAt: row.registered_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    revision: BigInt(row.stream_revision),
  }
}

export async function getPatient(pool: Pool, org: TenantId, id: string): Promise<Found<PatientView>> {
  return toView(
    await rowOf<PatientRow>(pool, 'select * from patients.patients where org_id = $1 and patient_id = $2', [org, id]),
  )
}

/** Every place at which `scheme|value` may be meant to part: both may hold a `|`. */
function readingsOf(identifier: string): { readonly schemes: readonly string[]; readonly values: readonly string[] } {
  const places = [...identifier.matchAll(/\|/g)].map(({ index }) => index)
  return {
    schemes: places.map((place) => identifier.slice(0, place)),
    values: places.map((place) => identifier.slice(place + 1)),
  }
}

/** Who has the identifier, which is given as `scheme|value`, oldest first. */
export async function listPatients(
  pool: Pool,
  org: TenantId,
  identifier: string,
  after: CursorPlace | null,
  limit: number,
): Promise<Found<PatientView>[]> {
  const { schemes, values } = readingsOf(identifier)
  const rows = await rowsOf<PatientRow>(
    pool,
    `select * from patients.patients
     where org_id = $1 and patient_id in (
         select found.patient_id from patients.patient_identifiers as found
         join unnest($2::text[], $3::text[]) as asked(scheme, value) using (scheme, value)
         where found.org_id = $1)
       and ($4::timestamptz is null or (registered_at, patient_id) > ($4::timestamptz, $5::uuid))
     order by registered_at, patient_id limit $6`,
    [org, schemes, values, after?.[0] ?? null, after?.[1] ?? null, limit],
  )
  return rows.map(toView)
}

import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

const nullableText = Nullable(Type.String())

const PatientIdentifierRecord = Type.Object({ scheme: Type.String(), value: Type.String() })

/** Specification 2.3. Members are null after the patient's erasure. */
export const PatientRecord = Type.Object(
  {
    id: Uuid,
    given_name: nullableText,
    family_name: nullableText,
    dob: nullableText,
    identifiers: Type.Array(PatientIdentifierRecord),
    created_at: Instant,
    updated_at: Instant,
  },
  { $id: 'PatientRecord', ...personal('record') },
)
export type PatientRecord = Static<typeof PatientRecord>

interface RegisteredPatient {
  readonly patientId: string
  readonly person: Pick<ValuesOf<typeof PatientRecord>, keyof typeof erased> | null
  readonly registeredAt: string
  readonly updatedAt: string
}

const erased = { givenName: null, familyName: null, dob: null, identifiers: [] }

export function toPatientRecord({ patientId: id, person, registeredAt, updatedAt }: RegisteredPatient): PatientRecord {
  return toRecord(PatientRecord, { ...(person ?? erased), id, createdAt: registeredAt, updatedAt })
}

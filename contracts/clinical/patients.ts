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

type Identifiers = ValuesOf<typeof PatientRecord>['identifiers']
type RegisteredPatient = Omit<ValuesOf<typeof PatientRecord>, 'id' | 'identifiers' | 'createdAt'> & {
  readonly patientId: string
  readonly identifiers: Identifiers | null
  readonly registeredAt: string
}

export function toPatientRecord(patient: RegisteredPatient): PatientRecord {
  const { patientId: id, identifiers, registeredAt: createdAt } = patient
  return toRecord(PatientRecord, { ...patient, id, identifiers: identifiers ?? [], createdAt })
}

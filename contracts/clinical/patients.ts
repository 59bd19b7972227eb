import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'

const nullableText = Nullable(Type.String())

export const PatientIdentifierRecord = Type.Object({ scheme: Type.String(), value: Type.String() })

/** Contract section 3, line 104. Members are null after the patient's erasure. */
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
  { $id: 'PatientRecord' },
)
export type PatientRecord = Static<typeof PatientRecord>

export interface PatientView {
  readonly patientId: string
  readonly givenName: string | null
  readonly familyName: string | null
  readonly dob: string | null
  readonly identifiers: readonly PatientRecord['identifiers'][number][] | null
  readonly registeredAt: string
  readonly updatedAt: string
}

export function toPatientRecord(view: PatientView): PatientRecord {
  return {
    id: view.patientId,
    given_name: view.givenName,
    family_name: view.familyName,
    dob: view.dob,
    identifiers: [...(view.identifiers ?? [])],
    created_at: view.registeredAt,
    updated_at: view.updatedAt,
  }
}

import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../http/members.ts'

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
}

export function toPatientRecord(view: PatientView): PatientRecord {
  return {
    id: view.patientId,
    given_name: view.givenName,
    family_name: view.familyName,
    dob: view.dob,
    identifiers: [...(view.identifiers ?? [])],
    created_at: view.registeredAt,
    updated_at: view.registeredAt,
  }
}

/** Contract section 3, line 104. `in_review` and `closed` come with the services that set them. */
export const CaseRecord = Type.Object(
  {
    id: Uuid,
    patient_id: Uuid,
    status: Type.Enum(['open', 'in_review', 'closed']),
    external_reference: nullableText,
    product_id: Nullable(Uuid),
    workflow_instance_id: Nullable(Uuid),
    created_at: Instant,
    updated_at: Instant,
  },
  { $id: 'CaseRecord' },
)
export type CaseRecord = Static<typeof CaseRecord>

export interface CaseView {
  readonly caseId: string
  readonly patientId: string
  readonly productId: string | null
  readonly externalReference: string | null
  readonly openedAt: string
}

export function toCaseRecord(view: CaseView): CaseRecord {
  return {
    id: view.caseId,
    patient_id: view.patientId,
    status: 'open',
    external_reference: view.externalReference,
    product_id: view.productId,
    workflow_instance_id: null,
    created_at: view.openedAt,
    updated_at: view.openedAt,
  }
}

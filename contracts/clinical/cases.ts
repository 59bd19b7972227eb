import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'

/** Contract section 3, line 104. `in_review` and `closed` come with the services that set them. */
export const CaseRecord = Type.Object(
  {
    id: Uuid,
    patient_id: Uuid,
    status: Type.Enum(['open', 'in_review', 'closed']),
    external_reference: Nullable(Type.String()),
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
  readonly updatedAt: string
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
    updated_at: view.updatedAt,
  }
}

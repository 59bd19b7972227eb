import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import { CaseStatus } from '../../streams/case/events.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

/** Specification 2.3. A case is `in_review` while one of its tasks of human review is open or claimed. */
export const CaseRecord = Type.Object(
  {
    id: Uuid,
    patient_id: Uuid,
    status: CaseStatus,
    external_reference: Nullable(Type.String()),
    product_id: Nullable(Uuid),
    workflow_instance_id: Nullable(Uuid),
    created_at: Instant,
    updated_at: Instant,
  },
  { $id: 'CaseRecord', ...personal('record') },
)
export type CaseRecord = Static<typeof CaseRecord>

type Named = 'id' | 'createdAt'
type OpenedCase = Omit<ValuesOf<typeof CaseRecord>, Named> & { readonly caseId: string; readonly openedAt: string }

export function toCaseRecord(opened: OpenedCase): CaseRecord {
  const { caseId: id, openedAt: createdAt } = opened
  return toRecord(CaseRecord, { ...opened, id, createdAt })
}

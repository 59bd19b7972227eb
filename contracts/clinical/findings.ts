import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import { Coordinates } from '../../streams/ai-review/events.ts'
import { DiagnosisSource, DiagnosisStatus, FindingSource } from '../../streams/case/events.ts'
import { CodedTerm } from '../../streams/types.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

/** `clinician` follows with services in which clinicians record findings. */
const findingSource = Type.Enum([...FindingSource.enum, 'clinician'])

/** Specification 6. */
export const FindingRecord = Type.Object(
  {
    id: Uuid,
    case_id: Uuid,
    source: findingSource,
    ai_review_id: Nullable(Uuid),
    lesion_number: Nullable(Type.Integer()),
    body_site_id: Nullable(Uuid),
    coordinates: Nullable(Coordinates),
    created_at: Instant,
  },
  { $id: 'FindingRecord', ...personal('results') },
)
export type FindingRecord = Static<typeof FindingRecord>

export function toFindingRecord(
  finding: Omit<ValuesOf<typeof FindingRecord>, 'id'> & { readonly findingId: string },
): FindingRecord {
  return toRecord(FindingRecord, { ...finding, id: finding.findingId })
}

/** Specification 6. */
export const DiagnosisRecord = Type.Object(
  {
    id: Uuid,
    finding_id: Uuid,
    source: DiagnosisSource,
    task_id: Nullable(Uuid, { description: 'The task of human review, for a diagnosis of a clinician' }),
    status: DiagnosisStatus,
    icd10: CodedTerm,
    snomed: CodedTerm,
    category: Nullable(Type.String()),
    created_at: Instant,
  },
  { $id: 'DiagnosisRecord', ...personal('results') },
)
export type DiagnosisRecord = Static<typeof DiagnosisRecord>

export function toDiagnosisRecord(
  diagnosis: Omit<ValuesOf<typeof DiagnosisRecord>, 'id'> & { readonly diagnosisId: string },
): DiagnosisRecord {
  return toRecord(DiagnosisRecord, { ...diagnosis, id: diagnosis.diagnosisId })
}

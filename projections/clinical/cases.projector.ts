import type { CaseEvent } from '../../streams/case/events.ts'
import { parseOwnedStream } from '../../streams/aggregate.ts'
import { defineProjector, insert, patch } from '../runtime/projector.ts'
import { cases, diagnoses, findings } from './cases.table.ts'

export const casesProjector = defineProjector<CaseEvent>()({
  name: 'cases',
  version: 2,
  tables: [cases, findings, diagnoses],
  handlers: {
    CaseOpened: ({ data, revision }) => [
      insert(cases, {
        case_id: data.caseId,
        org_id: data.organisationId,
        patient_id: data.patientId,
        product_id: data.productId,
        external_reference: data.externalReference,
        opened_at: data.openedAt,
        updated_at: data.openedAt,
        stream_revision: revision,
      }),
    ],
    CaseFindingRecorded: ({ data, revision, stream }) => [
      insert(findings, {
        finding_id: data.findingId,
        org_id: parseOwnedStream(stream).orgId,
        case_id: data.caseId,
        source: data.source,
        ai_review_id: data.aiReviewId,
        lesion_number: data.lesionNumber,
        body_site_id: data.bodySiteId,
        coordinates: data.coordinates,
        created_at: data.recordedAt,
        stream_revision: revision,
      }),
      patch(cases, { case_id: data.caseId }, { updated_at: data.recordedAt, stream_revision: revision }),
    ],
    CaseDiagnosisRecorded: ({ data, revision, stream }) => [
      insert(diagnoses, {
        diagnosis_id: data.diagnosisId,
        org_id: parseOwnedStream(stream).orgId,
        case_id: data.caseId,
        finding_id: data.findingId,
        source: data.source,
        status: 'active',
        icd10: data.icd10,
        snomed: data.snomed,
        category: data.category,
        lesion_number: data.lesionNumber,
        created_at: data.recordedAt,
        stream_revision: revision,
      }),
      patch(cases, { case_id: data.caseId }, { updated_at: data.recordedAt, stream_revision: revision }),
    ],
    CaseDiagnosisSuperseded: ({ data, revision }) => [
      patch(
        diagnoses,
        { diagnosis_id: data.diagnosisId },
        { status: 'superseded', superseded_at: data.supersededAt, stream_revision: revision },
      ),
      patch(cases, { case_id: data.caseId }, { updated_at: data.supersededAt, stream_revision: revision }),
    ],
  },
})

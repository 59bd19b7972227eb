import { Type } from 'typebox'
import { Coordinates } from '../../streams/ai-review/events.ts'
import {
  CaseStatus,
  DiagnosisCorrection,
  DiagnosisSource,
  DiagnosisStatus,
  FindingSource,
  type CaseEvent,
} from '../../streams/case/events.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { CodedTerm } from '../../streams/types.ts'
import { defineProjector, defineTable, sealed } from '../../engine/projections/projector.ts'
import { insertRow, patchRow } from '../../engine/projections/row-changes.ts'

export const casesTable = defineTable({
  name: 'cases',
  columns: {
    case_id: 'uuid',
    org_id: 'uuid',
    patient_id: 'uuid',
    status: { type: 'text', values: CaseStatus.enum },
    product_id: { type: 'uuid', nullable: true },
    external_reference: sealed(Type.String()),
    workflow_instance_id: { type: 'uuid', nullable: true },
    opened_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['case_id'],
  indexes: [
    { columns: ['org_id', 'opened_at', 'case_id'] },
    { columns: ['org_id', 'status', 'opened_at', 'case_id'] },
    { columns: ['org_id', 'patient_id', 'opened_at', 'case_id'] },
  ],
})

export const findingsTable = defineTable({
  name: 'findings',
  columns: {
    finding_id: 'uuid',
    org_id: 'uuid',
    case_id: 'uuid',
    source: { type: 'text', values: FindingSource.enum },
    ai_review_id: { type: 'uuid', nullable: true },
    lesion_number: { type: 'integer', nullable: true },
    body_site_id: { type: 'uuid', nullable: true },
    coordinates: { type: 'jsonb', schema: Coordinates, nullable: true },
    created_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['finding_id'],
  indexes: [{ columns: ['org_id', 'case_id', 'created_at'] }],
})

export const diagnosesTable = defineTable({
  name: 'diagnoses',
  columns: {
    diagnosis_id: 'uuid',
    org_id: 'uuid',
    case_id: 'uuid',
    finding_id: 'uuid',
    source: { type: 'text', values: DiagnosisSource.enum },
    task_id: { type: 'uuid', nullable: true },
    status: { type: 'text', values: DiagnosisStatus.enum },
    /** Of the AI. `correction` is what a clinician wrote in place of them. */
    icd10: { type: 'jsonb', schema: CodedTerm },
    snomed: { type: 'jsonb', schema: CodedTerm },
    category: { type: 'text', nullable: true },
    correction: sealed(DiagnosisCorrection),
    lesion_number: { type: 'integer', nullable: true },
    created_at: 'timestamptz',
    superseded_at: { type: 'timestamptz', nullable: true },
    stream_revision: 'bigint',
  },
  primaryKey: ['diagnosis_id'],
  indexes: [{ columns: ['org_id', 'case_id', 'created_at'] }],
})

export const casesProjector = defineProjector<CaseEvent>()({
  name: 'cases',
  version: 5,
  tables: [casesTable, findingsTable, diagnosesTable],
  handlers: {
    CaseOpened: ({ data, revision }) => [
      insertRow(casesTable, {
        ...data,
        orgId: data.organisationId,
        status: 'open',
        workflowInstanceId: data.workflow?.workflowInstanceId ?? null,
        updatedAt: data.openedAt,
        streamRevision: revision,
      }),
    ],
    CaseAssessmentAssigned: ({ data, revision }) => [updated(data.caseId, data.assignedAt, revision)],
    CaseClosed: ({ data: { caseId, closedAt }, revision }) => [
      patchRow(casesTable, { caseId, status: 'closed', updatedAt: closedAt, streamRevision: revision }),
    ],
    CaseFindingRecorded: ({ data, revision, stream }) => [
      insertRow(findingsTable, {
        ...data,
        orgId: parseOwnedStream(stream).orgId,
        createdAt: data.recordedAt,
        streamRevision: revision,
      }),
      updated(data.caseId, data.recordedAt, revision),
    ],
    CaseDiagnosisRecorded: ({ data, revision, stream }) => [
      insertRow(diagnosesTable, {
        ...data,
        orgId: parseOwnedStream(stream).orgId,
        status: 'active',
        createdAt: data.recordedAt,
        streamRevision: revision,
      }),
      updated(data.caseId, data.recordedAt, revision),
    ],
    CaseDiagnosisSuperseded: ({ data: { caseId, diagnosisId, supersededAt }, revision }) => [
      patchRow(diagnosesTable, { diagnosisId, status: 'superseded', supersededAt, streamRevision: revision }),
      updated(caseId, supersededAt, revision),
    ],
    CaseHumanReviewStarted: ({ data: { caseId, caseStatus, startedAt }, revision }) => [
      patchRow(casesTable, { caseId, status: caseStatus, updatedAt: startedAt, streamRevision: revision }),
    ],
    CaseHumanReviewEnded: ({ data: { caseId, caseStatus, endedAt }, revision }) => [
      patchRow(casesTable, { caseId, status: caseStatus, updatedAt: endedAt, streamRevision: revision }),
    ],
  },
})

function updated(caseId: string, updatedAt: string, streamRevision: bigint) {
  return patchRow(casesTable, { caseId, updatedAt, streamRevision })
}

import { Type, type Static } from 'typebox'
import { Coordinates } from '../ai-review/events.ts'
import { FindingType } from '../assessment/events.ts'
import { defineEvent, Phi, type EventOf } from '../store/schema.ts'
import { CodedTerm, Count, Fingerprint, Id, Instant, Nullable, OrgId } from '../types.ts'

/** Source of a finding and of its diagnosis. */
export const FindingSource = Type.Enum(['ai'])
/** Number, from 1, among the findings of one review. The last one ends the review's to-do row. */
const ordinal = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })

/** A superseded diagnosis came from an AI review that another review has replaced. */
export const DiagnosisStatus = Type.Enum(['active', 'superseded'])
export type DiagnosisStatus = Static<typeof DiagnosisStatus>

const found = {
  caseId: Id,
  findingId: Id,
  source: FindingSource,
  aiReviewId: Id,
  lesionNumber: Count,
  recordedAt: Instant,
}

/** Version 1 of `CaseOpened` had no workflow. */
const openedUpcasters = { 1: (data: unknown) => ({ ...Object(data), workflow: null }) }

export const caseEvents = {
  CaseOpened: defineEvent(
    'CaseOpened',
    Type.Object({
      caseId: Id,
      organisationId: OrgId,
      patientId: Id,
      productId: Nullable(Id),
      /** The assessment that opened this case; null if a client opened it. */
      assessmentId: Nullable(Id),
      externalReference: Phi(Nullable(Type.String())),
      clinicalContext: Phi(Nullable(Type.Record(Type.String(), Type.Unknown()))),
      customFields: Phi(Nullable(Type.Record(Type.String(), Type.String()))),
      /** The instance that starts with the case. */
      workflow: Nullable(
        Type.Object({
          workflowInstanceId: Id,
          workflowDefinitionId: Id,
          definitionVersion: Type.Integer({ minimum: 1 }),
        }),
      ),
      fingerprint: Fingerprint,
      openedAt: Instant,
    }),
    { subject: 'patientId', version: 2, upcasters: openedUpcasters },
  ),
  /** A workflow instance needs an assessment of the case. The event has everything for the first event of that one. */
  CaseAssessmentAssigned: defineEvent(
    'CaseAssessmentAssigned',
    Type.Object({
      caseId: Id,
      assessmentId: Id,
      workflowInstanceId: Id,
      productId: Id,
      findingType: FindingType,
      imageIds: Type.Array(Id),
      assignedAt: Instant,
    }),
  ),
  CaseClosed: defineEvent('CaseClosed', Type.Object({ caseId: Id, patientId: Id, closedAt: Instant })),
  /** A lesion that an AI review of the case found. It has codes and anonymous ids: no PHI. */
  CaseFindingRecorded: defineEvent(
    'CaseFindingRecorded',
    Type.Object({
      ...found,
      /** The body site from the assessment that opened the case. */
      bodySiteId: Nullable(Id),
      coordinates: Nullable(Coordinates),
      ordinal,
      lesionCount: Count,
    }),
  ),
  /** One per finding, in the same append. Without a code if the review suspects nothing. */
  CaseDiagnosisRecorded: defineEvent(
    'CaseDiagnosisRecorded',
    Type.Object({
      ...found,
      diagnosisId: Id,
      icd10: CodedTerm,
      snomed: CodedTerm,
      category: Nullable(Type.String()),
    }),
  ),
  /** Another review replaced the one behind the diagnosis. The finding stays. */
  CaseDiagnosisSuperseded: defineEvent(
    'CaseDiagnosisSuperseded',
    Type.Object({
      caseId: Id,
      diagnosisId: Id,
      findingId: Id,
      aiReviewId: Id,
      lesionNumber: Count,
      ordinal,
      diagnosisCount: Count,
      /** The new review. */
      supersededById: Id,
      supersededAt: Instant,
    }),
  ),
} as const

export type CaseEvent = EventOf<typeof caseEvents>

import { Type, type Static, type TSchema } from 'typebox'
import { Coordinates } from '../ai-review/events.ts'
import { FindingType } from '../assessment/events.ts'
import { defineEvent, Phi, type EventOf } from '../../engine/store/schema.ts'
import { Count, Fingerprint, Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'
import { CodedTerm } from '../types.ts'

export const FindingSource = Type.Enum(['ai'])
/** A clinician's diagnosis comes from a task of human review. */
export const DiagnosisSource = Type.Enum(['ai', 'clinician'])
export const CaseStatus = Type.Enum(['open', 'in_review', 'closed'])
export type CaseStatus = Static<typeof CaseStatus>

export const DiagnosisCorrection = Type.Object({
  icd10: CodedTerm,
  snomed: CodedTerm,
  category: Nullable(Type.String()),
})

/** Number, from 1, among the findings or diagnoses of one review. The last one ends the review's to-do row. */
const ordinal = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })

/** A diagnosis of the AI is superseded by a later review, or by a clinician who corrects or rejects it. */
export const DiagnosisStatus = Type.Enum(['active', 'superseded'])
export type DiagnosisStatus = Static<typeof DiagnosisStatus>

function found<Source extends TSchema>(source: Source) {
  return { caseId: Id, findingId: Id, source, aiReviewId: Id, lesionNumber: Count, recordedAt: Instant }
}

const ofHumanReview = {
  caseId: Id,
  taskId: Id,
  aiReviewId: Id,
  /** After the event. A closed case stays closed. */
  caseStatus: CaseStatus,
}

/** Version 1 of `CaseOpened` had no workflow. */
const openedUpcasters = { 1: (data: unknown) => ({ ...Object(data), workflow: null }) }
/** Version 1 of events about diagnoses had no human review. */
const diagnosisUpcasters = { 1: (data: unknown) => ({ ...Object(data), taskId: null }) }
const recordedUpcasters = {
  1: (data: unknown) => ({ ...Object(diagnosisUpcasters[1](data)), patientId: null, correction: null }),
}

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
      ...found(FindingSource),
      /** The body site from the assessment that opened the case. */
      bodySiteId: Nullable(Id),
      coordinates: Nullable(Coordinates),
      ordinal,
      lesionCount: Count,
    }),
  ),
  /**
   * One of the AI per finding, in the same append, without a code if the review suspects nothing. A decided task of human
   * review adds one of the clinician for each lesion that it does not reject.
   */
  CaseDiagnosisRecorded: defineEvent(
    'CaseDiagnosisRecorded',
    Type.Object({
      ...found(DiagnosisSource),
      /** The task of human review; null for a diagnosis of the AI. */
      taskId: Nullable(Id),
      diagnosisId: Id,
      /** Those of the AI. Without a code if the clinician corrected them. */
      icd10: CodedTerm,
      snomed: CodedTerm,
      category: Nullable(Type.String()),
      /** Names the key of the correction. Null for a diagnosis of the AI. */
      patientId: Nullable(Id),
      /** What the clinician wrote in place of the codes of the AI. Null if the clinician confirmed them. */
      correction: Phi(Nullable(DiagnosisCorrection)),
    }),
    { version: 2, upcasters: recordedUpcasters, subject: 'patientId' },
  ),
  /** A review replaced the one behind the AI's diagnosis, or a clinician corrected or rejected it. The finding stays. */
  CaseDiagnosisSuperseded: defineEvent(
    'CaseDiagnosisSuperseded',
    Type.Object({
      caseId: Id,
      diagnosisId: Id,
      findingId: Id,
      aiReviewId: Id,
      lesionNumber: Count,
      /** Number of superseded diagnoses of the review, with this one. */
      ordinal,
      /** All diagnoses of the review. */
      diagnosisCount: Count,
      /** The new review, or the task of human review. */
      supersededById: Id,
      taskId: Nullable(Id),
      supersededAt: Instant,
    }),
    { version: 2, upcasters: diagnosisUpcasters },
  ),
  /** Comes before the first event of the task. So each open task is known here, and a close is decided in this stream. */
  CaseHumanReviewStarted: defineEvent(
    'CaseHumanReviewStarted',
    Type.Object({
      ...ofHumanReview,
      /** Of the review. */
      productId: Id,
      /** The assessment that the case has for this product. If there is none, the case may get one later. */
      assessmentId: Nullable(Id),
      startedAt: Instant,
    }),
  ),
  /** The task was decided or cancelled, and its diagnoses are recorded. */
  CaseHumanReviewEnded: defineEvent('CaseHumanReviewEnded', Type.Object({ ...ofHumanReview, endedAt: Instant })),
} as const

export type CaseEvent = EventOf<typeof caseEvents>

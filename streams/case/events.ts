import { Type } from 'typebox'
import { Coordinates } from '../ai-review/events.ts'
import { defineEvent, Phi, type EventOf } from '../store/schema.ts'
import { CodedTerm, Count, Fingerprint, Id, Instant, Nullable, OrgId } from '../types.ts'

/** Who found it. */
const source = Type.Literal('ai')
/** From 1: place among those that one review leads to. The last one settles the review's to-do row. */
const ordinal = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })

/** A superseded diagnosis came from an AI review that another review has replaced. */
export const DiagnosisStatus = Type.Enum(['active', 'superseded'])

export const caseEvents = {
  CaseOpened: defineEvent(
    'CaseOpened',
    Type.Object({
      caseId: Id,
      organisationId: OrgId,
      patientId: Id,
      productId: Nullable(Id),
      /** The assessment that opened this case for itself; null for a case that a client opened. */
      assessmentId: Nullable(Id),
      externalReference: Phi(Nullable(Type.String())),
      clinicalContext: Phi(Nullable(Type.Record(Type.String(), Type.Unknown()))),
      customFields: Phi(Nullable(Type.Record(Type.String(), Type.String()))),
      fingerprint: Fingerprint,
      openedAt: Instant,
    }),
    { subject: 'patientId' },
  ),
  /** A lesion that an AI review of the case found. Coded, under ids that name nobody: no PHI. */
  CaseFindingRecorded: defineEvent(
    'CaseFindingRecorded',
    Type.Object({
      caseId: Id,
      findingId: Id,
      source,
      aiReviewId: Id,
      lesionNumber: Count,
      recordedAt: Instant,
      /** As the assessment that opened the case named it. */
      bodySiteId: Nullable(Id),
      coordinates: Nullable(Coordinates),
      ordinal,
      lesionCount: Count,
    }),
  ),
  /** One for each finding, appended with it; without any code where the review suspects nothing. */
  CaseDiagnosisRecorded: defineEvent(
    'CaseDiagnosisRecorded',
    Type.Object({
      caseId: Id,
      findingId: Id,
      source,
      aiReviewId: Id,
      lesionNumber: Count,
      recordedAt: Instant,
      diagnosisId: Id,
      icd10: CodedTerm,
      snomed: CodedTerm,
      category: Nullable(Type.String()),
    }),
  ),
  /** Another review has taken the place of the one that led to the diagnosis; the finding stands. */
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
      /** The review. */
      supersededById: Id,
      supersededAt: Instant,
    }),
  ),
} as const

export type CaseEvent = EventOf<typeof caseEvents>

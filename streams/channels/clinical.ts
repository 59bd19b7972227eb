import { Type } from 'typebox'
import { DiagnosisSource } from '../case/events.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Count, Id, Instant, Nullable } from '../../engine/aggregates/types.ts'
import { defineChannelStream, publicData } from '../../engine/aggregates/channel-stream.ts'

const ofDiagnosis = {
  org_id: Id,
  diagnosis_id: Id,
  finding_id: Id,
  case_id: Id,
  ai_review_id: Id,
  /** Earlier events lack it and the task: they are about diagnoses of the AI. */
  source: Type.Optional(DiagnosisSource),
  /** Null without a task of human review. */
  task_id: Type.Optional(Nullable(Id)),
}

/** Stream of the public events of clinical records. They contain ids only; the GET routes have the records. */
export const clinicalChannelStream = defineChannelStream({
  name: 'clinical.events',
  organisationMember: 'org_id',
  events: {
    patientRegistered: defineEvent(
      'clinical.patient.registered',
      publicData({ org_id: Id, patient_id: Id, registered_at: Instant }),
    ),
    patientCorrected: defineEvent(
      'clinical.patient.corrected',
      publicData({ org_id: Id, patient_id: Id, corrected_at: Instant }),
    ),
    /** The registration never counted. Consumers remove the patient. */
    patientRevoked: defineEvent(
      'clinical.patient.revoked',
      publicData({ org_id: Id, patient_id: Id, revoked_at: Instant }),
    ),
    /** Consumers remove what they have about the patient. */
    patientErased: defineEvent(
      'clinical.patient.erased',
      publicData({ org_id: Id, patient_id: Id, erased_at: Instant }),
    ),
    caseOpened: defineEvent(
      'clinical.case.opened',
      publicData({
        org_id: Id,
        case_id: Id,
        patient_id: Id,
        product_id: Nullable(Id),
        /** Null for a case that a client opened. */
        assessment_id: Nullable(Id),
        /** Present if a workflow instance starts with the case. */
        workflow_instance_id: Type.Optional(Id),
        workflow_definition_id: Type.Optional(Id),
        workflow_definition_version: Type.Optional(Type.Integer({ minimum: 1 })),
        opened_at: Instant,
      }),
    ),
    caseClosed: defineEvent(
      'clinical.case.closed',
      publicData({ org_id: Id, case_id: Id, patient_id: Id, closed_at: Instant }),
    ),
    findingRecorded: defineEvent(
      'clinical.finding.recorded',
      publicData({
        org_id: Id,
        finding_id: Id,
        case_id: Id,
        ai_review_id: Id,
        lesion_number: Count,
        recorded_at: Instant,
      }),
    ),
    diagnosisRecorded: defineEvent('clinical.diagnosis.recorded', publicData({ ...ofDiagnosis, recorded_at: Instant })),
    diagnosisSuperseded: defineEvent(
      'clinical.diagnosis.superseded',
      publicData({
        ...ofDiagnosis,
        /** The AI review that superseded the review of the diagnosis, or the task of human review. */
        superseded_by_id: Id,
        superseded_at: Instant,
      }),
    ),
  },
})

export type ClinicalChannelEvent = EventOf<typeof clinicalChannelStream.events>

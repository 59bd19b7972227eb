import { defineEvent, type EventOf } from '../store/schema.ts'
import { Count, Id, Instant, Nullable } from '../types.ts'
import { publicData } from './envelope.ts'

/** Stream of the public events of clinical records. They contain ids only; the GET routes return the records. */
export const clinicalChannel = 'clinical.events'

export const clinicalChannelEvents = {
  patientRegistered: defineEvent(
    'clinical.patient.registered',
    publicData({ org_id: Id, patient_id: Id, registered_at: Instant }),
  ),
  patientCorrected: defineEvent(
    'clinical.patient.corrected',
    publicData({ org_id: Id, patient_id: Id, corrected_at: Instant }),
  ),
  /** The registration never counted. Consumers must remove the patient. */
  patientRevoked: defineEvent(
    'clinical.patient.revoked',
    publicData({ org_id: Id, patient_id: Id, revoked_at: Instant }),
  ),
  caseOpened: defineEvent(
    'clinical.case.opened',
    publicData({
      org_id: Id,
      case_id: Id,
      patient_id: Id,
      product_id: Nullable(Id),
      /** Null if a client opened the case. */
      assessment_id: Nullable(Id),
      opened_at: Instant,
    }),
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
  diagnosisRecorded: defineEvent(
    'clinical.diagnosis.recorded',
    publicData({ org_id: Id, diagnosis_id: Id, finding_id: Id, case_id: Id, ai_review_id: Id, recorded_at: Instant }),
  ),
  diagnosisSuperseded: defineEvent(
    'clinical.diagnosis.superseded',
    publicData({
      org_id: Id,
      diagnosis_id: Id,
      finding_id: Id,
      case_id: Id,
      ai_review_id: Id,
      /** The AI review that replaced the one behind the diagnosis. */
      superseded_by_id: Id,
      superseded_at: Instant,
    }),
  ),
} as const

export type ClinicalChannelEvent = EventOf<typeof clinicalChannelEvents>

import { defineEvent, type EventOf } from '../store/schema.ts'
import { Id, Instant, Nullable } from '../types.ts'
import { publicData } from './envelope.ts'

/** Stream of the public events of clinical records: ids only, who needs more asks the GET routes. */
export const clinicalChannel = 'clinical.events'

export const clinicalChannelEvents = {
  patientRegistered: defineEvent('clinical.patient.registered', publicData({ org_id: Id, patient_id: Id, registered_at: Instant })),
  patientCorrected: defineEvent('clinical.patient.corrected', publicData({ org_id: Id, patient_id: Id, corrected_at: Instant })),
  /** The registration never counted: forget the patient. */
  patientRevoked: defineEvent('clinical.patient.revoked', publicData({ org_id: Id, patient_id: Id, revoked_at: Instant })),
  caseOpened: defineEvent(
    'clinical.case.opened',
    publicData({
      org_id: Id,
      case_id: Id,
      patient_id: Id,
      product_id: Nullable(Id),
      /** Null for a case that a client opened. */
      assessment_id: Nullable(Id),
      opened_at: Instant,
    }),
  ),
} as const

export type ClinicalChannelEvent = EventOf<typeof clinicalChannelEvents>

import { patientErasures } from '../../streams/patient-erasure/aggregate.ts'
import type { PatientErasureEvent } from '../../streams/patient-erasure/events.ts'
import { at, factsOf, hash, ids } from './facts.ts'

const of = { patientId: ids.patient }
const owned = { ...of, organisationId: ids.org }

export const erasureFact = factsOf<PatientErasureEvent>({
  PatientErasureRequested: {
    ...owned,
    reason: 'person_request',
    reference: 'letter/12',
    approvals: 2,
    requestedBy: ids.client,
    request: { key: hash('c'), fingerprint: hash('d') },
    requestedAt: at(0),
  },
  PatientErasureJoined: {
    ...of,
    reason: 'legal_obligation',
    reference: 'order/7',
    joinedBy: ids.claim,
    request: { key: hash('e'), fingerprint: hash('f') },
    joinedAt: at(5),
  },
  PatientErasureApproved: {
    ...of,
    approvedBy: ids.claim,
    request: { key: hash('a'), fingerprint: hash('b') },
    approvedAt: at(10),
  },
  PatientErasureCancelled: { ...of, cancelledBy: ids.claim, request: null, cancelledAt: at(10) },
  PatientErasureStarted: { ...owned, startedAt: at(10) },
  PatientErasureStepDone: { ...of, step: 'work_ended', doneAt: at(11) },
  PatientErasureStepFailed: { ...of, step: 'objects_deleted', errorCode: 'object-store-unavailable', failedAt: at(11) },
  SubjectErased: { ...owned, erasedAt: at(20) },
  LegalHoldPlaced: { ...owned, reason: 'lawsuit', until: null, placedBy: ids.client, placedAt: at(1) },
  LegalHoldReleased: { ...of, releasedBy: ids.client, releasedAt: at(2) },
})

/** An event of the erasure of a patient, in its stream. */
export const ofErasure = (event: PatientErasureEvent, orgId = ids.org) => ({
  ...event,
  stream: patientErasures.of(orgId, ids.patient).stream,
})

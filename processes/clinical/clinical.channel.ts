import type { CaseEvent } from '../../streams/case/events.ts'
import { category as clinicalCase } from '../../streams/case/stream.ts'
import { clinicalChannel } from '../../streams/channels/clinical.ts'
import type { PatientEvent } from '../../streams/patient/events.ts'
import { category as patient } from '../../streams/patient/stream.ts'
import type { DomainEvent } from '../../streams/store/events.ts'
import { parseOwnedStream } from '../../streams/stream-name.ts'
import type { ChannelDefinition } from '../relay/channel.ts'

type DataOf<Event extends DomainEvent, Type extends Event['type']> = Extract<Event, { type: Type }>['data']

/** What became of patients and cases, by ids alone: no name, no birth, no code (architecture section 3). */
export const clinicalEventsChannel: ChannelDefinition<unknown> = {
  stream: clinicalChannel,
  sources: [`${patient}-`, `${clinicalCase}-`],
  organisationMember: 'org_id',
  translate: {
    PatientRegistered: ({ stream, data }) => {
      const { patientId, registeredAt } = data as DataOf<PatientEvent, 'PatientRegistered'>
      return [{ type: 'clinical.patient.registered', data: { org_id: organisationOf(stream), patient_id: patientId, registered_at: registeredAt } }]
    },

    PatientCorrected: ({ stream, data }) => {
      const { patientId, correctedAt } = data as DataOf<PatientEvent, 'PatientCorrected'>
      return [{ type: 'clinical.patient.corrected', data: { org_id: organisationOf(stream), patient_id: patientId, corrected_at: correctedAt } }]
    },

    PatientRegistrationRevoked: ({ stream, data }) => {
      const { patientId, revokedAt } = data as DataOf<PatientEvent, 'PatientRegistrationRevoked'>
      return [{ type: 'clinical.patient.revoked', data: { org_id: organisationOf(stream), patient_id: patientId, revoked_at: revokedAt } }]
    },

    CaseOpened: ({ stream, data }) => {
      const { caseId, patientId, productId, assessmentId, openedAt } = data as DataOf<CaseEvent, 'CaseOpened'>
      const ids = { case_id: caseId, patient_id: patientId, product_id: productId, assessment_id: assessmentId }
      return [{ type: 'clinical.case.opened', data: { org_id: organisationOf(stream), ...ids, opened_at: openedAt } }]
    },
  },
}

function organisationOf(stream: string): string {
  return parseOwnedStream(stream).orgId
}

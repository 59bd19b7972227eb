import type { CaseEvent } from '../../streams/case/events.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { clinicalChannel } from '../../streams/channels/clinical.ts'
import type { PatientEvent } from '../../streams/patient/events.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import type { DomainEvent } from '../../streams/store/events.ts'
import { parseOwnedStream } from '../../streams/aggregate.ts'
import type { ChannelDefinition } from '../relay/channel.ts'

type DataOf<Event extends DomainEvent, Type extends Event['type']> = Extract<Event, { type: Type }>['data']

/** What became of patients and cases, by ids alone: no name, no birth, no code (architecture section 3). */
export const clinicalEventsChannel: ChannelDefinition<unknown> = {
  stream: clinicalChannel,
  sources: [`${patients.category}-`, `${cases.category}-`],
  organisationMember: 'org_id',
  translate: {
    PatientRegistered: ({ stream, data }) => {
      const { patientId, registeredAt } = data as DataOf<PatientEvent, 'PatientRegistered'>
      return [
        {
          type: 'clinical.patient.registered',
          occurredAt: registeredAt,
          data: { org_id: organisationOf(stream), patient_id: patientId, registered_at: registeredAt },
        },
      ]
    },

    PatientCorrected: ({ stream, data }) => {
      const { patientId, correctedAt } = data as DataOf<PatientEvent, 'PatientCorrected'>
      return [
        {
          type: 'clinical.patient.corrected',
          occurredAt: correctedAt,
          data: { org_id: organisationOf(stream), patient_id: patientId, corrected_at: correctedAt },
        },
      ]
    },

    PatientRegistrationRevoked: ({ stream, data }) => {
      const { patientId, revokedAt } = data as DataOf<PatientEvent, 'PatientRegistrationRevoked'>
      return [
        {
          type: 'clinical.patient.revoked',
          occurredAt: revokedAt,
          data: { org_id: organisationOf(stream), patient_id: patientId, revoked_at: revokedAt },
        },
      ]
    },

    CaseOpened: ({ stream, data }) => {
      const { caseId, patientId, productId, assessmentId, openedAt } = data as DataOf<CaseEvent, 'CaseOpened'>
      const ids = { case_id: caseId, patient_id: patientId, product_id: productId, assessment_id: assessmentId }
      return [
        {
          type: 'clinical.case.opened',
          occurredAt: openedAt,
          data: { org_id: organisationOf(stream), ...ids, opened_at: openedAt },
        },
      ]
    },

    CaseFindingRecorded: ({ stream, data }) => {
      const { caseId, findingId, aiReviewId, lesionNumber, recordedAt } = data as DataOf<
        CaseEvent,
        'CaseFindingRecorded'
      >
      const ids = { finding_id: findingId, case_id: caseId, ai_review_id: aiReviewId, lesion_number: lesionNumber }
      return [
        {
          type: 'clinical.finding.recorded',
          occurredAt: recordedAt,
          data: { org_id: organisationOf(stream), ...ids, recorded_at: recordedAt },
        },
      ]
    },

    CaseDiagnosisRecorded: ({ stream, data }) => {
      const { caseId, diagnosisId, findingId, aiReviewId, recordedAt } = data as DataOf<
        CaseEvent,
        'CaseDiagnosisRecorded'
      >
      const ids = { diagnosis_id: diagnosisId, finding_id: findingId, case_id: caseId, ai_review_id: aiReviewId }
      return [
        {
          type: 'clinical.diagnosis.recorded',
          occurredAt: recordedAt,
          data: { org_id: organisationOf(stream), ...ids, recorded_at: recordedAt },
        },
      ]
    },

    CaseDiagnosisSuperseded: ({ stream, data }) => {
      const { caseId, diagnosisId, findingId, aiReviewId, supersededById, supersededAt } = data as DataOf<
        CaseEvent,
        'CaseDiagnosisSuperseded'
      >
      const ids = { diagnosis_id: diagnosisId, finding_id: findingId, case_id: caseId, ai_review_id: aiReviewId }
      const superseded = { superseded_by_id: supersededById, superseded_at: supersededAt }
      return [
        {
          type: 'clinical.diagnosis.superseded',
          occurredAt: supersededAt,
          data: { org_id: organisationOf(stream), ...ids, ...superseded },
        },
      ]
    },
  },
}

function organisationOf(stream: string): string {
  return parseOwnedStream(stream).orgId
}

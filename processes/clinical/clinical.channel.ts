import { cases } from '../../streams/case/aggregate.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import { clinicalChannelStream } from '../../streams/channels/clinical.ts'
import { patientErasures } from '../../streams/patient-erasure/aggregate.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import { defineChannel } from '../../engine/relay/channel.ts'

/** Changes of patients and cases, with ids only: no name, no birth date, no code (architecture section 3). */
export const clinicalChannel = defineChannel({
  stream: clinicalChannelStream,
  sources: [patients, cases, patientErasures],
  translate: {
    PatientRegistered: ({ data: { patientId, registeredAt } }, publish) => [
      publish('clinical.patient.registered', registeredAt, { patient_id: patientId, registered_at: registeredAt }),
    ],
    PatientCorrected: ({ data: { patientId, correctedAt } }, publish) => [
      publish('clinical.patient.corrected', correctedAt, { patient_id: patientId, corrected_at: correctedAt }),
    ],
    PatientRegistrationRevoked: ({ data: { patientId, revokedAt } }, publish) => [
      publish('clinical.patient.revoked', revokedAt, { patient_id: patientId, revoked_at: revokedAt }),
    ],
    SubjectErased: ({ data: { patientId, erasedAt } }, publish) => [
      publish('clinical.patient.erased', erasedAt, { patient_id: patientId, erased_at: erasedAt }),
    ],
    CaseOpened: ({ data }, publish) => [
      publish('clinical.case.opened', data.openedAt, {
        case_id: data.caseId,
        patient_id: data.patientId,
        product_id: data.productId,
        assessment_id: data.assessmentId,
        ...workflowOf(data.workflow),
        opened_at: data.openedAt,
      }),
    ],
    CaseClosed: ({ data: { caseId, patientId, closedAt } }, publish) => [
      publish('clinical.case.closed', closedAt, { case_id: caseId, patient_id: patientId, closed_at: closedAt }),
    ],
    CaseFindingRecorded: ({ data }, publish) => [
      publish('clinical.finding.recorded', data.recordedAt, {
        finding_id: data.findingId,
        case_id: data.caseId,
        ai_review_id: data.aiReviewId,
        lesion_number: data.lesionNumber,
        recorded_at: data.recordedAt,
      }),
    ],
    CaseDiagnosisRecorded: ({ data }, publish) => [
      publish('clinical.diagnosis.recorded', data.recordedAt, {
        diagnosis_id: data.diagnosisId,
        finding_id: data.findingId,
        case_id: data.caseId,
        ai_review_id: data.aiReviewId,
        source: data.source,
        task_id: data.taskId,
        recorded_at: data.recordedAt,
      }),
    ],
    CaseDiagnosisSuperseded: ({ data }, publish) => [
      publish('clinical.diagnosis.superseded', data.supersededAt, {
        diagnosis_id: data.diagnosisId,
        finding_id: data.findingId,
        case_id: data.caseId,
        ai_review_id: data.aiReviewId,
        // Only diagnoses of the AI are superseded.
        source: 'ai',
        task_id: data.taskId,
        superseded_by_id: data.supersededById,
        superseded_at: data.supersededAt,
      }),
    ],
  },
})

type Workflow = Extract<CaseEvent, { type: 'CaseOpened' }>['data']['workflow']

function workflowOf(workflow: Workflow) {
  if (workflow === null) return {}
  return {
    workflow_instance_id: workflow.workflowInstanceId,
    workflow_definition_id: workflow.workflowDefinitionId,
    workflow_definition_version: workflow.definitionVersion,
  }
}

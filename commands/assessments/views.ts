import type { AssessmentView } from '../../contracts/assessments/record.ts'
import type { ExistingAssessment } from '../../streams/assessment/aggregate.ts'

/** The record's view of an assessment as its stream tells it. */
export function viewOf(state: ExistingAssessment): AssessmentView {
  return {
    id: state.assessmentId,
    status: state.status,
    patientId: state.patientId,
    caseId: state.status === 'awaiting_images' ? null : state.caseId,
    externalReference: state.externalReference,
    images: state.images.map((image) => ({
      imageId: image.imageId,
      captureType: image.captureType,
      objectKey: 'object' in image ? image.object.key : null,
    })),
    result:
      state.status === 'completed'
        ? { ai_provider: state.aiProvider, outcome: state.outcome, completed_at: state.completedAt }
        : null,
    failureCode: state.status === 'failed' ? state.code : null,
  }
}

import {
  signDownloads,
  toAssessmentRecord,
  type AssessmentRecord,
  type AssessmentView,
} from '../../contracts/assessments/record.ts'
import type { ExistingAssessment } from '../../streams/assessment/aggregate.ts'
import type { AssessmentDependencies } from '../handling/dependencies.ts'

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

/** The record as a write answers it, with download addresses signed now; upload addresses where there are any to give. */
export async function answeredRecord(
  { objects, configuration }: AssessmentDependencies,
  state: ExistingAssessment,
  uploadUrls?: ReadonlyMap<string, string>,
): Promise<AssessmentRecord> {
  const view = viewOf(state)
  const downloadUrls = await signDownloads(objects, view, configuration.downloadUrlTtlSeconds)
  return toAssessmentRecord(view, downloadUrls, uploadUrls)
}

import {
  signDownloads,
  toAssessmentRecord,
  type AssessmentRecord,
  type AssessmentView,
} from '../../contracts/assessments/record.ts'
import { hasEnded, type ExistingAssessment } from '../../streams/assessment/aggregate.ts'
import type { AssessmentDependencies } from './dependencies.ts'

/** The record's view of an assessment, from its stream. */
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
    review: hasEnded(state) ? state.humanReview : null,
  }
}

/** The record in the answer of a write, with newly signed download addresses, and upload addresses if there are any. */
export async function recordWithAddresses(
  { objects, configuration }: AssessmentDependencies,
  state: ExistingAssessment,
  uploadUrls?: ReadonlyMap<string, string>,
): Promise<AssessmentRecord> {
  const view = viewOf(state)
  const downloadUrls = await signDownloads(objects, view, configuration.downloadUrlTtlSeconds)
  return toAssessmentRecord(view, downloadUrls, uploadUrls)
}

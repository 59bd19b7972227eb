import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { AssessmentState } from '../../streams/assessment/state.ts'
import type { Decision } from '../handling/decision.ts'

/** Asks for the AI review, once, when the case is open. `other` is sent as MACROSCOPIC (T32). */
export function requestReview(command: { now: Date }, state: AssessmentState): Decision<AssessmentEvent> {
  if (state.status !== 'processing' || state.isReviewRequested) return []
  const { assessmentId, caseId, patientId, productId } = state
  return [
    {
      type: 'AssessmentReviewRequested',
      data: {
        assessmentId,
        caseId,
        patientId,
        productId,
        images: state.images.map(({ imageId, captureType, object }) => ({
          imageId,
          imageType: captureType === 'dermoscopic' ? 'DERMOSCOPIC' : 'MACROSCOPIC',
          objectKey: object.key,
        })),
        requestedAt: command.now.toISOString(),
      },
    },
  ]
}

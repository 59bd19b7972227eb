import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { AssessmentState, ProcessingAssessment } from '../../streams/assessment/aggregate.ts'
import type { Decision } from '../../engine/commands/decision.ts'

type ReviewRequested = Extract<AssessmentEvent, { type: 'AssessmentReviewRequested' }>['data']

/** The frozen images in the terms of the AI review. `other` is sent as MACROSCOPIC. */
export function reviewImagesOf({ images }: ProcessingAssessment): ReviewRequested['images'] {
  return images.map(({ imageId, captureType, object }) => ({
    imageId,
    imageType: captureType === 'dermoscopic' ? 'DERMOSCOPIC' : 'MACROSCOPIC',
    objectKey: object.key,
  }))
}

/** Requests the AI review, once, when the case is open. */
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
        images: reviewImagesOf(state),
        requestedAt: command.now.toISOString(),
      },
    },
  ]
}

export interface RenewReview {
  /** The review whose read addresses had expired. */
  readonly aiReviewId: string
  readonly now: Date
}

/** Records the only renewal of an assessment before the new review is requested. So a crash causes no second one. */
export function renewReview({ aiReviewId, now }: RenewReview, state: AssessmentState): Decision<AssessmentEvent> {
  if (state.status !== 'processing' || state.renewedReviewId !== null) return []
  const { assessmentId } = state
  return [{ type: 'AssessmentReviewRenewed', data: { assessmentId, aiReviewId, renewedAt: now.toISOString() } }]
}

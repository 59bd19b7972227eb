import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { AssessmentState, ProcessingAssessment } from '../../streams/assessment/aggregate.ts'
import type { Decision } from '../handling/decision.ts'

type ReviewRequested = Extract<AssessmentEvent, { type: 'AssessmentReviewRequested' }>['data']

/** The frozen images as the AI review names them. `other` is sent as MACROSCOPIC (T32). */
export function reviewImagesOf({ images }: ProcessingAssessment): ReviewRequested['images'] {
  return images.map(({ imageId, captureType, object }) => ({
    imageId,
    imageType: captureType === 'dermoscopic' ? 'DERMOSCOPIC' : 'MACROSCOPIC',
    objectKey: object.key,
  }))
}

/** Asks for the AI review, once, when the case is open. */
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

/** Decides on the one renewal that an assessment has (T30), before anything is asked for: a crash later spends no second one. */
export function renewReview({ aiReviewId, now }: RenewReview, state: AssessmentState): Decision<AssessmentEvent> {
  if (state.status !== 'processing' || state.renewedReviewId !== null) return []
  const { assessmentId } = state
  return [{ type: 'AssessmentReviewRenewed', data: { assessmentId, aiReviewId, renewedAt: now.toISOString() } }]
}

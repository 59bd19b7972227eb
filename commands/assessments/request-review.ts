import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import { assessments, type AssessmentState, type ProcessingAssessment } from '../../streams/assessment/aggregate.ts'
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

export interface RequestReview {
  readonly isCaseOpen: boolean
  readonly now: Date
}

/** Requests the AI review, once. */
export function requestReview({ isCaseOpen, now }: RequestReview, state: AssessmentState): AssessmentEvent[] {
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
        isCaseOpen,
        requestedAt: now.toISOString(),
      },
    },
  ]
}

/** The facts of a submission, and the request of its review at once. */
export function withReview(
  submission: AssessmentEvent[],
  state: AssessmentState,
  command: RequestReview,
): AssessmentEvent[] {
  return [...submission, ...requestReview(command, submission.reduce(assessments.evolve, state))]
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

import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { AssessmentState } from '../../streams/assessment/aggregate.ts'
import type { Decision } from '../handling/decision.ts'

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

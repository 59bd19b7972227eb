import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { AssessmentState } from '../../streams/assessment/aggregate.ts'
import type { Decision } from '../../engine/commands/decision.ts'
import { areUploadsOpen } from './submit-assessment.ts'

/**
 * Ends an assessment after its deadline, in every state of its review, so that none stays open for ever (invariant 4). The
 * step asks first whether the review ended in time.
 */
export function expireAssessment(command: { now: Date }, state: AssessmentState): Decision<AssessmentEvent> {
  if (state.status !== 'processing' || Date.parse(state.deadlineAt) > command.now.getTime()) return []
  const { assessmentId, deadlineAt } = state
  const data = { assessmentId, aiReviewId: null, code: 'ANALYSIS_TIMEOUT' as const, failedAt: deadlineAt }
  return [{ type: 'AssessmentFailed', data }]
}

/** The patient is erased. */
export function cancelWithPatient(command: { readonly now: Date }, state: AssessmentState): Decision<AssessmentEvent> {
  if (state.status !== 'processing' && state.status !== 'awaiting_images') return []
  const { assessmentId } = state
  const data = { assessmentId, aiReviewId: null, code: 'CANCELLED' as const, failedAt: command.now.toISOString() }
  return [{ type: 'AssessmentFailed', data }]
}

/** Ends an assessment after its upload window. From that instant nothing can be submitted. */
export function closeUploads(command: { readonly now: Date }, state: AssessmentState): Decision<AssessmentEvent> {
  if (state.status !== 'awaiting_images' || state.uploadsCloseAt === null || areUploadsOpen(command.now, state))
    return []
  const { assessmentId, uploadsCloseAt } = state
  const data = { assessmentId, aiReviewId: null, code: 'UPLOAD_WINDOW_EXPIRED' as const, failedAt: uploadsCloseAt }
  return [{ type: 'AssessmentFailed', data }]
}

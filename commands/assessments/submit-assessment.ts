import type { AssessmentEvent, ReceivedImage } from '../../streams/assessment/events.ts'
import type { AssessmentState, AwaitingAssessment } from '../../streams/assessment/aggregate.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import { refused, type Decision, type Refusal } from '../../engine/commands/decision.ts'
import { withReview } from './request-review.ts'

/** A submit request, before its uploads are read. */
export interface Submission {
  readonly request: CausingRequest
  readonly now: Date
}

export interface SubmitAssessment extends Submission {
  readonly caseId: string
  /** Every declared image, checked and frozen. */
  readonly images: readonly ReceivedImage[]
  /** Time limit of the analysis. After it the assessment fails with ANALYSIS_TIMEOUT. */
  readonly deadlineMs: number
}

/** Whether uploads may still be made and submitted. */
export function areUploadsOpen(now: Date, { uploadsCloseAt }: AwaitingAssessment): boolean {
  return uploadsCloseAt !== null && now.getTime() < Date.parse(uploadsCloseAt)
}

export type SubmissionRefusal = 'not-found' | 'assessment-not-awaiting-images' | 'idempotency-key-reused'

/** The case of a submit: uploads to check, an existing submission, or a refusal. */
export function meetSubmission(
  { request, now }: Submission,
  state: AssessmentState,
): 'uploads' | 'submitted' | Refusal<SubmissionRefusal> {
  if (state.status === 'absent') return refused('not-found')
  if (state.status === 'awaiting_images') {
    return areUploadsOpen(now, state) ? 'uploads' : refused('assessment-not-awaiting-images')
  }
  const isRepeat = isSubmittedBy(request, state)
  if (isRepeat && request?.fingerprint !== state.submittedBy?.fingerprint) return refused('idempotency-key-reused')
  // A repeat with the same key gets the current record, also if the assessment failed.
  return state.status === 'failed' && !isRepeat ? refused('assessment-not-awaiting-images') : 'submitted'
}

/** Whether the request has the Idempotency-Key that submitted the assessment. */
export function isSubmittedBy(request: CausingRequest, state: AssessmentState): boolean {
  return 'submittedBy' in state && state.submittedBy !== null && state.submittedBy.key === request?.key
}

export function submitAssessment(
  command: SubmitAssessment,
  state: AssessmentState,
): Decision<AssessmentEvent, SubmissionRefusal> {
  const met = meetSubmission(command, state)
  if (typeof met !== 'string') return met
  if (state.status !== 'awaiting_images') return []
  const { request, now, caseId, images, deadlineMs } = command
  const deadlineAt = new Date(now.getTime() + deadlineMs).toISOString()
  const data = {
    assessmentId: state.assessmentId,
    caseId,
    images: [...images],
    submittedAt: now.toISOString(),
    deadlineAt,
    request,
  }
  return withReview([{ type: 'AssessmentSubmitted', data }], state, { isCaseOpen: false, now })
}

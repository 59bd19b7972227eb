import type { AssessmentEvent, ReceivedImage } from '../../streams/assessment/events.ts'
import type { AssessmentState, DeclaredImage } from '../../streams/assessment/aggregate.ts'
import { repeated, type Decision } from '../../engine/commands/decision.ts'
import { withReview } from './request-review.ts'

type Requested = Extract<AssessmentEvent, { type: 'AssessmentRequested' }>['data']

/** An image with bytes in the request: its declaration, and its stored form. */
export interface InlineImage extends DeclaredImage, ReceivedImage {}

type Request = Omit<Requested, 'mode' | 'images' | 'requestedAt'>

/** A request without its images. */
export interface RequestedAssessment extends Request {
  readonly now: Date
}

export interface CreateInlineAssessment extends RequestedAssessment {
  readonly caseId: string
  readonly images: readonly InlineImage[]
  /** Time limit of the analysis. After it the assessment fails with ANALYSIS_TIMEOUT. */
  readonly deadlineMs: number
}

export interface CreateSlotAssessment extends RequestedAssessment {
  readonly images: readonly DeclaredImage[]
  /** Time limit of upload and submit. After it the assessment fails with UPLOAD_WINDOW_EXPIRED. */
  readonly uploadWindowMs: number
}

/** Inline mode: the request contains the bytes, so one append contains the request, the submission and the request of the review. */
export function createInlineAssessment(
  command: CreateInlineAssessment,
  state: AssessmentState,
): Decision<AssessmentEvent, 'idempotency-key-reused'> {
  if (state.status !== 'absent') return repeated(command, state)
  const { now, images, caseId, deadlineMs, ...request } = command
  const submittedAt = now.toISOString()
  const declared = images.map(({ imageId, captureType, mimeType }) => ({ imageId, captureType, mimeType }))
  const submission: AssessmentEvent[] = [
    { type: 'AssessmentRequested', data: { ...request, mode: 'inline', images: declared, requestedAt: submittedAt } },
    {
      type: 'AssessmentSubmitted',
      data: {
        assessmentId: command.assessmentId,
        caseId,
        images: images.map(({ imageId, object, width, height }) => ({ imageId, object, width, height })),
        submittedAt,
        deadlineAt: new Date(now.getTime() + deadlineMs).toISOString(),
        request: null,
      },
    },
  ]
  return withReview(submission, state, { isCaseOpen: false, now })
}

/** Slot mode: the request declares the images. Their bytes follow. */
export function createSlotAssessment(
  command: CreateSlotAssessment,
  state: AssessmentState,
): Decision<AssessmentEvent, 'idempotency-key-reused'> {
  if (state.status !== 'absent') return repeated(command, state)
  const { now, images, uploadWindowMs, ...request } = command
  const closesAt = new Date(now.getTime() + uploadWindowMs).toISOString()
  const data = { ...request, mode: 'slot' as const, images: [...images], requestedAt: now.toISOString() }
  return [
    { type: 'AssessmentRequested', data },
    { type: 'AssessmentUploadsAwaited', data: { assessmentId: command.assessmentId, closesAt } },
  ]
}

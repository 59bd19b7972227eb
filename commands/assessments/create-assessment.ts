import type { AssessmentEvent, ReceivedImage } from '../../streams/assessment/events.ts'
import type { AssessmentState, DeclaredImage } from '../../streams/assessment/aggregate.ts'
import { repeated, type Decision } from '../handling/decision.ts'

type Requested = Extract<AssessmentEvent, { type: 'AssessmentRequested' }>['data']

/** An image whose bytes came with the request: as declared, and as stored. */
export interface InlineImage extends DeclaredImage, ReceivedImage {}

type Request = Omit<Requested, 'mode' | 'images' | 'requestedAt'>

/** What a request says but for its images. */
export interface RequestedAssessment extends Request {
  readonly now: Date
}

export interface CreateInlineAssessment extends RequestedAssessment {
  readonly caseId: string
  readonly images: readonly InlineImage[]
  /** How long the analysis may take before the assessment fails with ANALYSIS_TIMEOUT. */
  readonly deadlineMs: number
}

export interface CreateSlotAssessment extends RequestedAssessment {
  readonly images: readonly DeclaredImage[]
  /** How long the images may be uploaded and submitted before the assessment fails with UPLOAD_WINDOW_EXPIRED. */
  readonly uploadWindowMs: number
}

/** Inline mode: request and submission are one append, since the bytes came with the request. */
export function createInlineAssessment(
  command: CreateInlineAssessment,
  state: AssessmentState,
): Decision<AssessmentEvent, 'idempotency-key-reused'> {
  if (state.status !== 'absent') return repeated(command, state)
  const { now, images, caseId, deadlineMs, ...request } = command
  const submittedAt = now.toISOString()
  const declared = images.map(({ imageId, captureType, mimeType }) => ({ imageId, captureType, mimeType }))
  return [
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
}

/** Slot mode: the images are declared, their bytes awaited. */
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

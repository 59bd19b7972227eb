import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { AssessmentState } from '../../streams/assessment/state.ts'
import { repeated, type Decision } from '../handling/decision.ts'

type Requested = Extract<AssessmentEvent, { type: 'AssessmentRequested' }>['data']
type Submitted = Extract<AssessmentEvent, { type: 'AssessmentSubmitted' }>['data']

export interface InlineImage {
  readonly imageId: string
  readonly captureType: Requested['images'][number]['captureType']
  readonly mimeType: string
  readonly object: Submitted['images'][number]['object']
  readonly width: number | null
  readonly height: number | null
}

export interface CreateInlineAssessment
  extends Omit<Requested, 'mode' | 'images' | 'requestedAt'> {
  readonly caseId: string
  readonly images: readonly InlineImage[]
  /** How long the analysis may take before the assessment fails with ANALYSIS_TIMEOUT. */
  readonly deadlineMs: number
  readonly now: Date
}

/** Inline mode: request and submission are one append, since the bytes came with the request. */
export function createInlineAssessment(
  command: CreateInlineAssessment,
  state: AssessmentState,
): Decision<AssessmentEvent> {
  if (state.status !== 'absent') return repeated(command, state)
  const { now, images, caseId, deadlineMs, ...request } = command
  const submittedAt = now.toISOString()
  return [
    {
      type: 'AssessmentRequested',
      data: {
        ...request,
        mode: 'inline',
        images: images.map(({ imageId, captureType, mimeType }) => ({ imageId, captureType, mimeType })),
        requestedAt: submittedAt,
      },
    },
    {
      type: 'AssessmentSubmitted',
      data: {
        assessmentId: command.assessmentId,
        caseId,
        images: images.map(({ imageId, object, width, height }) => ({ imageId, object, width, height })),
        submittedAt,
        deadlineAt: new Date(now.getTime() + deadlineMs).toISOString(),
      },
    },
  ]
}

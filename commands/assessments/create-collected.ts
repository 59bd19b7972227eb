import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { AssessmentState } from '../../streams/assessment/aggregate.ts'
import type { ExistingCase } from '../../streams/case/aggregate.ts'
import type { ImageState } from '../../streams/image/aggregate.ts'
import type { Decision } from '../../engine/commands/decision.ts'
import { withReview } from './request-review.ts'

type ReceivedState = Extract<ImageState, { status: 'received' }>

export interface CreateCollectedAssessment {
  /** With the assignment that requested the assessment. */
  readonly ofCase: ExistingCase & { readonly assigned: NonNullable<ExistingCase['assigned']> }
  /** In the order of the assignment. */
  readonly images: readonly ReceivedState[]
  readonly now: Date
  /** Time limit of the analysis. After it the assessment fails with ANALYSIS_TIMEOUT. */
  readonly deadlineMs: number
}

/** An assessment of images that a workflow collected on its case. A repeat changes nothing. */
export function createCollectedAssessment(
  { ofCase, images, now, deadlineMs }: CreateCollectedAssessment,
  state: AssessmentState,
): Decision<AssessmentEvent> {
  if (state.status !== 'absent') return []
  const { caseId, organisationId, patientId, externalReference, assigned } = ofCase
  const { assessmentId, productId, findingType } = assigned
  const at = now.toISOString()
  const submission: AssessmentEvent[] = [
    {
      type: 'AssessmentRequested',
      data: {
        assessmentId,
        organisationId,
        patientId,
        productId,
        finding: { findingType, bodySiteId: null },
        externalReference,
        clinicalContext: null,
        customFields: null,
        fingerprint: null,
        mode: 'collected',
        images: images.map(({ imageId, captureType, mimeType }) => ({ imageId, captureType, mimeType })),
        requestedAt: at,
      },
    },
    {
      type: 'AssessmentSubmitted',
      data: {
        assessmentId,
        caseId,
        images: images.map(({ imageId, object, width, height }) => ({ imageId, object, width, height })),
        submittedAt: at,
        deadlineAt: new Date(now.getTime() + deadlineMs).toISOString(),
        request: null,
      },
    },
  ]
  return withReview(submission, state, { isCaseOpen: true, now })
}

import type { AssessmentEvent, FailureCode } from '../../streams/assessment/events.ts'
import type { AssessmentState } from '../../streams/assessment/aggregate.ts'
import type { CancellationReason, Classification, ImageQuality, Lesion } from '../../streams/ai-review/events.ts'
import type { Decision } from '../../engine/commands/decision.ts'
import { outcomeOf } from './outcome-mapping.ts'

/** How the AI review of the assessment's case ended. */
export type ReviewEnd =
  | {
      readonly kind: 'completed'
      readonly aiProvider: string
      readonly lesions: readonly Lesion[]
      readonly imageQuality: readonly ImageQuality[]
    }
  | { readonly kind: 'failed'; readonly classification: Classification }
  | { readonly kind: 'cancelled'; readonly reason: CancellationReason }

export interface ConcludeAssessment {
  readonly aiReviewId: string
  readonly end: ReviewEnd
  readonly now: Date
}

/** The code of the assessment for each classification of its review (specification 7.2 and 7.3). */
const failureCodes: Readonly<Record<Classification, FailureCode>> = {
  consent_missing: 'CONSENT_MISSING',
  provider_result_timeout: 'ANALYSIS_TIMEOUT',
  provider_processing_failed: 'ANALYSIS_FAILED',
  provider_upstream_transient: 'PROVIDER_UNAVAILABLE',
  provider_auth_failed: 'PROVIDER_UNAVAILABLE',
  image_host_unavailable: 'PROVIDER_UNAVAILABLE',
  consent_check_unavailable: 'PROVIDER_UNAVAILABLE',
  case_lookup_unavailable: 'PROVIDER_UNAVAILABLE',
  budget_exceeded: 'PROVIDER_UNAVAILABLE',
  provider_client_error: 'PROVIDER_REJECTED',
  image_fetch_failed: 'IMAGE_FETCH_FAILED',
}

/** With this quality a review completes, but its assessment fails. */
export const unsuitableQuality = 'IMAGE_QUALITY_UNSUITABLE'

export function concludeAssessment(command: ConcludeAssessment, state: AssessmentState): Decision<AssessmentEvent> {
  if (state.status !== 'processing') return []
  const { aiReviewId, end, now } = command
  const { assessmentId } = state
  const failed = (code: FailureCode): AssessmentEvent[] => [
    { type: 'AssessmentFailed', data: { assessmentId, aiReviewId, code, failedAt: now.toISOString() } },
  ]
  switch (end.kind) {
    case 'failed':
      return failed(failureCodes[end.classification])
    case 'cancelled':
      return failed(end.reason === 'consent_withdrawn' ? 'CONSENT_MISSING' : 'CANCELLED')
    case 'completed': {
      const { aiProvider, lesions, imageQuality } = end
      if (imageQuality.some((image) => image.quality === unsuitableQuality)) return failed('IMAGE_QUALITY_INSUFFICIENT')
      const outcome = outcomeOf(lesions, imageQuality)
      return [
        {
          type: 'AssessmentCompleted',
          data: { assessmentId, aiReviewId, aiProvider, outcome, completedAt: now.toISOString() },
        },
      ]
    }
  }
}

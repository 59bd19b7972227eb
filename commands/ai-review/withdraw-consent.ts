import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import type { AiReviewState } from '../../streams/ai-review/aggregate.ts'
import type { Decision } from '../../engine/commands/decision.ts'
import { isAwaiting, isStarting } from './next-call.ts'

/** The review fails if the provider does not have all images yet. It is cancelled if it waits for the result. */
export function withdrawConsent(command: { now: Date }, state: AiReviewState): Decision<AiReviewEvent> {
  const at = command.now.toISOString()
  if (isStarting(state)) {
    const { aiReviewId, attemptCount } = state
    const data = {
      aiReviewId,
      classification: 'consent_missing' as const,
      upstreamStatus: null,
      providerOutcome: null,
      rawResponse: null,
      answered: null,
    }
    return [{ type: 'AiReviewFailed', data: { ...data, attemptCount, failedAt: at } }]
  }
  if (isAwaiting(state)) {
    const data = { aiReviewId: state.aiReviewId, reason: 'consent_withdrawn' as const, request: null, cancelledAt: at }
    return [{ type: 'AiReviewCancelled', data }]
  }
  return []
}

/** Records that a later decision replaces the withdrawal. The review continues. */
export function confirmConsent(command: { now: Date }, state: AiReviewState): Decision<AiReviewEvent> {
  const checkedAt = command.now.toISOString()
  if ((!isStarting(state) && !isAwaiting(state)) || state.consentConfirmedAt === checkedAt) return []
  const data = { aiReviewId: state.aiReviewId, checkedAt }
  return [{ type: 'AiReviewConsentConfirmed', data }]
}

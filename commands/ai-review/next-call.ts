import type { ProviderCall } from '../../streams/ai-review/events.ts'
import { leavesUnknown, type AiReviewState, type AwaitingReview, type StartingReview } from '../../streams/ai-review/state.ts'
import { openUntil } from '../handling/open-lease.ts'

export type NextCall =
  | { readonly kind: 'call'; readonly call: Exclude<ProviderCall, 'image'> }
  | { readonly kind: 'call'; readonly call: 'image'; readonly imageId: string }
  /** Another worker's attempt may still be under way. */
  | { readonly kind: 'wait'; readonly until: Date }
  | { readonly kind: 'nothing' }

export function isStarting(state: AiReviewState): state is StartingReview {
  return state.status === 'pending' || state.status === 'in_progress'
}

export function isAwaiting(state: AiReviewState): state is AwaitingReview {
  return state.status === 'awaiting_result'
}

/**
 * Which provider call the review needs now. An attempt cut off by a crash leaves the provider's side unknown: an open
 * `case` or `image` abandons that provider case, `process` and `result` are repeated (T29).
 */
export function nextCall(state: AiReviewState, now: Date): NextCall {
  if (!isStarting(state) && !isAwaiting(state)) return { kind: 'nothing' }
  const { openAttempt } = state
  const until = openUntil(openAttempt?.leaseUntil, now)
  if (until !== null) return { kind: 'wait', until }
  if (isAwaiting(state)) return { kind: 'call', call: 'result' }

  const isAbandoned = state.isProviderCaseAbandoned || leavesUnknown(openAttempt)
  if (state.providerCaseId === null || isAbandoned) return { kind: 'call', call: 'case' }
  const unsent = state.images.find((image) => !state.sentImages.has(image.imageId))
  return unsent === undefined
    ? { kind: 'call', call: 'process' }
    : { kind: 'call', call: 'image', imageId: unsent.imageId }
}

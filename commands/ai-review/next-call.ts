import { isDeepStrictEqual } from 'node:util'
import {
  leavesUnknown,
  type AiReviewState,
  type AwaitingReview,
  type StartingReview,
} from '../../streams/ai-review/aggregate.ts'
import { openLeaseEnd } from '../handling/decision.ts'

/** A provider call with what it depends on: two that are alike ask the provider for the same thing. */
export type PlannedCall =
  | { readonly kind: 'call'; readonly call: 'case' }
  | { readonly kind: 'call'; readonly call: 'image'; readonly providerCaseId: number; readonly imageId: string }
  | { readonly kind: 'call'; readonly call: 'process'; readonly providerCaseId: number }
  | { readonly kind: 'call'; readonly call: 'result'; readonly nextPollAt: string }

export type NextCall =
  | PlannedCall
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
  const until = openLeaseEnd(openAttempt?.leaseUntil, now)
  if (until !== null) return { kind: 'wait', until }
  if (isAwaiting(state)) return { kind: 'call', call: 'result', nextPollAt: state.nextPollAt }

  const { providerCaseId } = state
  const isAbandoned = state.isProviderCaseAbandoned || leavesUnknown(openAttempt)
  if (providerCaseId === null || isAbandoned) return { kind: 'call', call: 'case' }
  const unsent = state.images.find((image) => !state.sentImages.has(image.imageId))
  return unsent === undefined
    ? { kind: 'call', call: 'process', providerCaseId }
    : { kind: 'call', call: 'image', providerCaseId, imageId: unsent.imageId }
}

/** Whether the review still needs the call that was planned on an earlier state of it: of the same provider case, the same poll. */
export function isStillNext(planned: PlannedCall, state: AiReviewState, now: Date): boolean {
  return isDeepStrictEqual(nextCall(state, now), planned)
}

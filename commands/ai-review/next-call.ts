import { isDeepStrictEqual } from 'node:util'
import {
  leavesUnknown,
  type AiReviewState,
  type AwaitingReview,
  type StartingReview,
} from '../../streams/ai-review/aggregate.ts'
import { isOver } from '../../contracts/ai-review/record.ts'
import { openLeaseEnd } from '../../engine/commands/decision.ts'

/** A provider call with its arguments. Two equal calls request the same thing of the provider. */
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

export function hasEnded(state: AiReviewState): boolean {
  return state.status !== 'absent' && isOver(state.status)
}

export function isAwaiting(state: AiReviewState): state is AwaitingReview {
  return state.status === 'awaiting_result'
}

/**
 * The provider call that the review needs now. After a crash during an attempt, the state at the provider is unknown.
 * An open `case` or `image` abandons the provider case; `process` and `result` are repeated.
 */
export function nextCall(state: AiReviewState, now: Date, endedLeases: readonly string[] = []): NextCall {
  if (!isStarting(state) && !isAwaiting(state)) return { kind: 'nothing' }
  const { openAttempt } = state
  const until = openLeaseEnd(openAttempt?.leaseUntil, now, endedLeases)
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

/** The end of the lease of another worker's attempt. */
export function callWaitsUntil(state: AiReviewState, now: Date, endedLeases: readonly string[]): Date | null {
  const next = nextCall(state, now, endedLeases)
  return next.kind === 'wait' ? next.until : null
}

/** Whether the review still needs a call planned on an earlier state: same provider case, same poll. */
export function isStillNext(
  planned: PlannedCall,
  state: AiReviewState,
  now: Date,
  endedLeases: readonly string[] = [],
): boolean {
  return isDeepStrictEqual(nextCall(state, now, endedLeases), planned)
}

import type {
  AiReviewEvent,
  Classification,
  ImageQuality,
  Lesion,
  ProviderAnswered,
  ProviderCall,
  ProviderOutcome,
  RawResponse,
  SentBytes,
} from '../../streams/ai-review/events.ts'
import {
  leavesUnknown,
  type AiReviewState,
  type AwaitingReview,
  type StartingReview,
} from '../../streams/ai-review/aggregate.ts'
import { isAwaiting, isStarting, isStillNext, type PlannedCall } from './next-call.ts'

export type CallOutcome =
  | { readonly kind: 'case-created'; readonly providerCaseId: number }
  | {
      readonly kind: 'image-sent'
      readonly imageId: string
      readonly providerImageId: number
      readonly providerImageHash: string | null
      readonly sent: SentBytes | null
    }
  | {
      readonly kind: 'processing-accepted'
      readonly providerChecksum: string
      readonly nextPollAt: Date
      readonly deadlineAt: Date
    }
  | {
      readonly kind: 'start-deferred'
      /** The number of the next retry, counted from 1. */
      readonly retry: number
      readonly classification: Classification
      readonly upstreamStatus: number | null
      readonly abandonsProviderCase: boolean
      readonly retryAt: Date
    }
  | { readonly kind: 'postponed'; readonly call: ProviderCall; readonly retryAt: Date }
  | { readonly kind: 'poll-deferred'; readonly upstreamStatus: number | null; readonly nextPollAt: Date }
  | {
      readonly kind: 'completed'
      readonly aiProvider: string
      readonly result: ReviewResult
      readonly rawResponse: RawResponse
    }
  | {
      readonly kind: 'failed'
      readonly classification: Classification
      readonly upstreamStatus: number | null
      readonly providerOutcome: ProviderOutcome | null
      readonly rawResponse: RawResponse | null
      /** Whether the failed call was a poll, which counts as an attempt. */
      readonly isPoll: boolean
    }

type StartDeferred = Extract<CallOutcome, { kind: 'start-deferred' }>
type OpenReview = StartingReview | AwaitingReview

export interface ReviewResult {
  readonly analysisResult: string
  readonly analysisStatus: string | null
  readonly lesionCount: number
  readonly processingType: string | null
  readonly sensitivitySet: string | null
  readonly reportDate: string | null
  readonly providerVersion: string | null
  readonly imageQuality: ImageQuality[]
  readonly lesions: Lesion[]
}

export interface RecordOutcome {
  /** The attempt, or the planned call if a check before the attempt failed. */
  readonly of: ProviderAnswered | { readonly unattempted: PlannedCall; readonly endedLeases?: readonly string[] }
  readonly outcome: CallOutcome
  readonly now: Date
}

/**
 * Records the outcome of a call, or of the checks before it. The outcome of a closed attempt changes nothing: another
 * worker took over the lease, or the review has ended. A failed check changes nothing if the review no longer needs the
 * planned call. If two workers fail before the same call, they use up one retry.
 */
export function recordOutcome(command: RecordOutcome, state: AiReviewState): AiReviewEvent[] {
  if (!isStarting(state) && !isAwaiting(state)) return []
  const { of, now } = command
  const counts =
    'attemptId' in of
      ? state.openAttempt?.attemptId === of.attemptId
      : isStillNext(of.unattempted, state, now, of.endedLeases)
  if (!counts) return []
  return factsOf(command, state, now.toISOString())
}

function factsOf({ of, outcome }: RecordOutcome, review: OpenReview, at: string): AiReviewEvent[] {
  const { aiReviewId } = review
  const answered = 'attemptId' in of ? of : null
  switch (outcome.kind) {
    case 'case-created': {
      const { providerCaseId } = outcome
      return [{ type: 'AiReviewProviderCaseCreated', data: { aiReviewId, providerCaseId, createdAt: at, answered } }]
    }
    case 'image-sent': {
      const { kind: _, ...image } = outcome
      return [{ type: 'AiReviewImageSent', data: { aiReviewId, ...image, sentAt: at, answered } }]
    }
    case 'processing-accepted': {
      const { providerChecksum } = outcome
      const polling = { nextPollAt: outcome.nextPollAt.toISOString(), deadlineAt: outcome.deadlineAt.toISOString() }
      return [
        {
          type: 'AiReviewProcessingAccepted',
          data: { aiReviewId, providerChecksum, acceptedAt: at, ...polling, answered },
        },
      ]
    }
    case 'start-deferred':
      return startDeferred(outcome, answered, review, at)
    case 'postponed': {
      const { call, retryAt } = outcome
      return [
        { type: 'AiReviewCallPostponed', data: { aiReviewId, call, postponedAt: at, retryAt: retryAt.toISOString() } },
      ]
    }
    case 'poll-deferred': {
      const { upstreamStatus, nextPollAt } = outcome
      const next = { polledAt: at, nextPollAt: nextPollAt.toISOString(), answered }
      return [
        {
          type: 'AiReviewPollDeferred',
          data: { aiReviewId, attemptCount: review.attemptCount + 1, upstreamStatus, ...next },
        },
      ]
    }
    case 'completed': {
      const { aiProvider, result, rawResponse } = outcome
      const attemptCount = review.attemptCount + 1
      return [
        {
          type: 'AiReviewCompleted',
          data: { aiReviewId, attemptCount, aiProvider, ...result, rawResponse, completedAt: at, answered },
        },
      ]
    }
    case 'failed': {
      const { classification, upstreamStatus, providerOutcome, rawResponse, isPoll } = outcome
      const attemptCount = review.attemptCount + (isPoll ? 1 : 0)
      const failure = { classification, upstreamStatus, providerOutcome, rawResponse }
      return [{ type: 'AiReviewFailed', data: { aiReviewId, ...failure, attemptCount, failedAt: at, answered } }]
    }
  }
}

function startDeferred(
  outcome: StartDeferred,
  answered: ProviderAnswered | null,
  review: OpenReview,
  at: string,
): AiReviewEvent[] {
  const { aiReviewId, startRetries, openAttempt } = review
  const { retry, classification, upstreamStatus, retryAt } = outcome
  if (retry !== startRetries + 1) return []
  // A failed check does not close an attempt that a crash left open: the state at the provider stays unknown.
  const isCutOff = answered === null && leavesUnknown(openAttempt)
  const abandonsProviderCase = outcome.abandonsProviderCase || isCutOff
  const data = {
    aiReviewId,
    retry,
    classification,
    upstreamStatus,
    abandonsProviderCase,
    deferredAt: at,
    retryAt: retryAt.toISOString(),
    answered,
  }
  return [{ type: 'AiReviewStartDeferred', data }]
}

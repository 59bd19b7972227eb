import type { AiReviewEvent, Classification, ImageQuality, Lesion, ProviderCall } from '../../streams/ai-review/events.ts'
import { leavesUnknown, type AiReviewState } from '../../streams/ai-review/state.ts'
import type { StoredObject } from '../../streams/types.ts'
import type { Decision } from '../handling/decision.ts'
import { openUntil } from '../handling/open-lease.ts'
import { isAwaiting, isStarting, nextCall, type NextCall } from './next-call.ts'

export interface AttemptCall {
  readonly attemptId: string
  readonly next: Extract<NextCall, { kind: 'call' }>
  readonly consentCheckedAt: Date | null
  readonly now: Date
  readonly leaseUntil: Date
}

/** Fences the call: whoever loses this append does not call. */
export function attemptCall(command: AttemptCall, state: AiReviewState): Decision<AiReviewEvent> {
  if (state.status === 'absent') return []
  const wanted = nextCall(state, command.now)
  const { next } = command
  const imageId = next.call === 'image' ? next.imageId : null
  if (wanted.kind !== 'call' || wanted.call !== next.call) return []
  if (wanted.call === 'image' && wanted.imageId !== imageId) return []
  return [
    {
      type: 'AiReviewCallAttempted',
      data: {
        aiReviewId: state.aiReviewId,
        attemptId: command.attemptId,
        call: next.call,
        imageId,
        consentCheckedAt: command.consentCheckedAt?.toISOString() ?? null,
        attemptedAt: command.now.toISOString(),
        leaseUntil: command.leaseUntil.toISOString(),
      },
    },
  ]
}

export type CallOutcome =
  | { readonly kind: 'case-created'; readonly providerCaseId: number }
  | { readonly kind: 'image-sent'; readonly imageId: string; readonly providerImageId: number; readonly providerImageHash: string | null }
  | {
      readonly kind: 'processing-accepted'
      readonly providerChecksum: string
      readonly nextPollAt: Date
      readonly deadlineAt: Date
    }
  | {
      readonly kind: 'start-deferred'
      /** Which retry comes next, counted from 1. */
      readonly retry: number
      readonly classification: Classification
      readonly upstreamStatus: number | null
      readonly abandonsProviderCase: boolean
      readonly retryAt: Date
    }
  | { readonly kind: 'postponed'; readonly call: ProviderCall; readonly retryAt: Date }
  | { readonly kind: 'poll-deferred'; readonly upstreamStatus: number | null; readonly nextPollAt: Date }
  | { readonly kind: 'completed'; readonly result: ReviewResult; readonly rawResponse: StoredObject }
  | {
      readonly kind: 'failed'
      readonly classification: Classification
      readonly upstreamStatus: number | null
      readonly rawResponse: StoredObject | null
      /** The poll that failed counts as one. */
      readonly isPoll: boolean
    }

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
  /** The attempt this is the outcome of; null for what ended before any provider call was attempted. */
  readonly attemptId: string | null
  readonly outcome: CallOutcome
  readonly now: Date
}

/**
 * Records what a call, or the checks before it, came to. Counts only for the attempt that is open: an outcome that
 * arrives after its lease was taken over, or after the review ended, changes nothing. Two runs that hung before the same
 * call, the second because the lease of the first ended, use up one try.
 */
export function recordOutcome(command: RecordOutcome, state: AiReviewState): Decision<AiReviewEvent> {
  if (!isStarting(state) && !isAwaiting(state)) return []
  const { attemptId, outcome } = command
  if (attemptId !== null && state.openAttempt?.attemptId !== attemptId) return []
  if (attemptId === null && openUntil(state.openAttempt?.leaseUntil, command.now) !== null) return []
  const { aiReviewId } = state
  const at = command.now.toISOString()
  switch (outcome.kind) {
    case 'case-created':
      return [
        { type: 'AiReviewProviderCaseCreated', data: { aiReviewId, providerCaseId: outcome.providerCaseId, createdAt: at } },
      ]
    case 'image-sent': {
      const { imageId, providerImageId, providerImageHash } = outcome
      return [{ type: 'AiReviewImageSent', data: { aiReviewId, imageId, providerImageId, providerImageHash, sentAt: at } }]
    }
    case 'processing-accepted':
      return [
        {
          type: 'AiReviewProcessingAccepted',
          data: {
            aiReviewId,
            providerChecksum: outcome.providerChecksum,
            acceptedAt: at,
            nextPollAt: outcome.nextPollAt.toISOString(),
            deadlineAt: outcome.deadlineAt.toISOString(),
          },
        },
      ]
    case 'start-deferred': {
      const { classification, upstreamStatus, retryAt } = outcome
      if (outcome.retry !== state.startRetries + 1) return []
      // A check that failed settles no attempt: one that a crash left open still counts against the provider's case.
      const isCutOff = attemptId === null && leavesUnknown(state.openAttempt)
      const abandonsProviderCase = outcome.abandonsProviderCase || isCutOff
      return [
        {
          type: 'AiReviewStartDeferred',
          data: {
            aiReviewId,
            retry: state.startRetries + 1,
            classification,
            upstreamStatus,
            abandonsProviderCase,
            deferredAt: at,
            retryAt: retryAt.toISOString(),
          },
        },
      ]
    }
    case 'postponed':
      return [
        {
          type: 'AiReviewCallPostponed',
          data: { aiReviewId, call: outcome.call, postponedAt: at, retryAt: outcome.retryAt.toISOString() },
        },
      ]
    case 'poll-deferred':
      return [
        {
          type: 'AiReviewPollDeferred',
          data: {
            aiReviewId,
            attemptCount: state.attemptCount + 1,
            upstreamStatus: outcome.upstreamStatus,
            polledAt: at,
            nextPollAt: outcome.nextPollAt.toISOString(),
          },
        },
      ]
    case 'completed':
      return [
        {
          type: 'AiReviewCompleted',
          data: {
            aiReviewId,
            attemptCount: state.attemptCount + 1,
            ...outcome.result,
            rawResponse: outcome.rawResponse,
            completedAt: at,
          },
        },
      ]
    case 'failed': {
      const { classification, upstreamStatus, rawResponse, isPoll } = outcome
      const attemptCount = state.attemptCount + (isPoll ? 1 : 0)
      return [
        { type: 'AiReviewFailed', data: { aiReviewId, classification, upstreamStatus, rawResponse, attemptCount, failedAt: at } },
      ]
    }
  }
}

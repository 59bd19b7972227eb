import { attemptCall } from '../../commands/ai-review/attempt-call.ts'
import { callWaitsUntil, isAwaiting, nextCall } from '../../commands/ai-review/next-call.ts'
import { nextPollAt, pollScheduleOf } from '../../commands/ai-review/polling.ts'
import { recordOutcome, type CallOutcome } from '../../commands/ai-review/record-outcome.ts'
import { successorOf } from '../../commands/ai-review/slot-holder.ts'
import { loadSufficient } from '../../engine/commands/execute.ts'
import type { Classification, ProviderOutcome, RawResponse } from '../../streams/ai-review/events.ts'
import { appendLimitBytes } from '../../engine/store/appending.ts'
import { AppendTooLargeError, InvalidEventError } from '../../engine/store/errors.ts'
import { aiReviews, type AiReviewState, type AwaitingReview } from '../../streams/ai-review/aggregate.ts'
import type { ProviderAnswer } from '../adapters/provider.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import { outsideCall } from '../../engine/processes/attempt.ts'
import type { StepContext } from '../../engine/processes/process.ts'
import { readProviderResult } from './provider-result.ts'
import { answeredOf } from './answered-call.ts'
import { cancelErased } from './guard.steps.ts'
import { storeRawResponse } from './raw-response.ts'

/** One poll for the result. A poll that was due during an outage is made once, also after the deadline. */
export const poll: ProcessStep = async (todo, deps, step) => {
  const { store } = deps
  const target = aiReviews.of(todo.orgId, todo.key)
  const isDue = (state: AiReviewState) => isAwaiting(state) && Date.parse(state.nextPollAt) <= step.now().getTime()
  const loaded = await loadSufficient(store, target, isDue)
  if (!isAwaiting(loaded)) return { kind: 'done' }
  if (Date.parse(loaded.nextPollAt) > step.now().getTime()) return { kind: 'wait', until: new Date(loaded.nextPollAt) }
  const next = nextCall(loaded, step.now(), step.endedLeases)
  if (next.kind !== 'call') return next.kind === 'wait' ? next : { kind: 'done' }
  if ((await successorOf(store, loaded)) !== null) return { kind: 'done' }
  if (deps.vault.isClosed(todo.orgId, loaded.patientId ?? '')) return cancelErased(todo, deps, step)

  const openForMs = deps.provider.openForMs()
  if (openForMs > 0) return { kind: 'retry', after: openForMs, reason: 'circuit_open' }

  return outsideCall({ todo, step, store }, target, {
    open: (opening, state) => attemptCall({ ...opening, next, consent: null }, state),
    isOpen: isAwaiting,
    waitsUntil: callWaitsUntil,
    call: (signal, review) => deps.provider.result(review.providerCaseId, review.providerChecksum, signal),
    async conclude(answer, review, attempt) {
      const outcome = await outcomeOf(answer, review, deps, step)
      const record = (ended: CallOutcome) => {
        const command = { of: answeredOf(attempt, answer), outcome: ended, now: step.now() }
        return attempt.record((state) => recordOutcome(command, state))
      }
      const isEnd = outcome.kind === 'failed' || outcome.kind === 'completed'
      if (isEnd && (await successorOf(store, review)) !== null) {
        await dropUnnamed(outcome, deps)
        return { kind: 'done' }
      }
      try {
        const recorded = await record(outcome)
        if (recorded.events.length === 0) await dropUnnamed(outcome, deps)
        return { kind: 'done', position: recorded.position }
      } catch (error) {
        // This result can never be recorded. The review ends, and its raw response contains the result.
        const hasResult =
          outcome.kind === 'completed' || (outcome.kind === 'failed' && outcome.providerOutcome !== null)
        if (!hasResult || !isUnrecordable(error)) throw error
        const end = failed('provider_processing_failed', null, { rawResponse: outcome.rawResponse })
        return { kind: 'done', position: (await record(end)).position }
      }
    },
  })
}

/**
 * The events that record and publish a result have other members, too. If only the public one were too large, its channel
 * would stand still for every organisation.
 */
const mostResultBytes = appendLimitBytes - 8 * 1024

function isUnrecordable(error: unknown): boolean {
  return error instanceof AppendTooLargeError || error instanceof InvalidEventError
}

/** Removes a result that came after the end of its review. */
async function dropUnnamed(outcome: CallOutcome, { objects }: ProcessDependencies): Promise<void> {
  if ((outcome.kind === 'completed' || outcome.kind === 'failed') && outcome.rawResponse !== null) {
    await objects.remove(outcome.rawResponse.key)
  }
}

async function outcomeOf(
  answer: ProviderAnswer<{ readonly text: string; readonly aiProvider: string }>,
  review: AwaitingReview,
  deps: ProcessDependencies,
  step: StepContext,
): Promise<CallOutcome> {
  if (answer.kind === 'not-sent') {
    return { kind: 'postponed', call: 'result', retryAt: new Date(step.now().getTime() + answer.afterMs) }
  }
  if (answer.kind === 'failed') {
    const { classification, status, retryAfterMs } = answer
    const isPassing = classification === 'provider_upstream_transient'
    return isPassing ? again(review, deps, step, status, retryAfterMs) : failed(classification, status)
  }
  const { text, aiProvider } = answer.value
  const read = readProviderResult(text, review)
  if (read.kind === 'not-processed') return again(review, deps, step, null, 0)
  const { orgId, aiReviewId, patientId } = review
  if (patientId === null) throw new Error('a review awaits its result without a patient')
  const rawResponse = await storeRawResponse(deps, { orgId, aiReviewId, patientId, text })
  const { result } = read
  if (Buffer.byteLength(JSON.stringify(result)) > mostResultBytes)
    return failed('provider_processing_failed', null, { rawResponse })
  if (result.analysisResult === deps.configuration.providerSuccessResult)
    return { kind: 'completed', aiProvider, result, rawResponse }
  const { analysisResult, providerVersion, imageQuality } = result
  return failed('provider_processing_failed', null, {
    providerOutcome: { analysisResult, providerVersion, imageQuality },
    rawResponse,
  })
}

/** A result that is not ready or not available counts as a poll. The last poll is at the deadline. */
function again(
  review: AwaitingReview,
  { configuration }: ProcessDependencies,
  step: StepContext,
  upstreamStatus: number | null,
  retryAfterMs: number,
): CallOutcome {
  const polled = { attemptCount: review.attemptCount + 1, deadlineAt: new Date(review.deadlineAt) }
  const at = nextPollAt(pollScheduleOf(configuration), polled, step.now(), retryAfterMs)
  return at === null
    ? failed('provider_result_timeout', upstreamStatus)
    : { kind: 'poll-deferred', upstreamStatus, nextPollAt: at }
}

/** `processed` is set if the provider has processed the case. */
function failed(
  classification: Classification,
  upstreamStatus: number | null,
  processed: { readonly providerOutcome?: ProviderOutcome; readonly rawResponse?: RawResponse | null } = {},
): CallOutcome {
  const { providerOutcome = null, rawResponse = null } = processed
  return { kind: 'failed', classification, upstreamStatus, providerOutcome, rawResponse, isPoll: true }
}

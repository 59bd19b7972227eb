import type { Readable } from 'node:stream'
import { attemptCall } from '../../commands/ai-review/attempt-call.ts'
import { callWaitsUntil, hasEnded, isStarting, nextCall, type PlannedCall } from '../../commands/ai-review/next-call.ts'
import { nextPollAt, pollScheduleOf } from '../../commands/ai-review/polling.ts'
import { recordOutcome, type CallOutcome } from '../../commands/ai-review/record-outcome.ts'
import { successorOf } from '../../commands/ai-review/slot-holder.ts'
import { startReview } from '../../commands/ai-review/open-review.ts'
import { appends } from '../../engine/processes/appends.ts'
import { execute, loadSufficient } from '../../engine/commands/execute.ts'
import {
  aiReviews,
  requiredConsentCode,
  type AiReviewState,
  type StartingReview,
} from '../../streams/ai-review/aggregate.ts'
import type { Classification } from '../../streams/ai-review/events.ts'
import type { FetchedImage } from '../adapters/image-fetch.ts'
import type { ProviderAnswer } from '../adapters/provider.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { callOutside, outsideCall, requireTime } from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'
import { outcomeCommand } from '../../engine/processes/step-identity.ts'
import { nextDelay } from '../../engine/processes/step-timing.ts'
import { answeredOf } from './answered-call.ts'
import { foreignAddresses } from './foreign-addresses.ts'
import { admission, release } from './guard.steps.ts'
import { readAddress } from './signed-images.ts'

type StartCall = Exclude<PlannedCall, { readonly call: 'result' }>
type CallOf<Name extends StartCall['call']> = Extract<StartCall, { readonly call: Name }>

interface Run {
  readonly todo: Todo
  readonly deps: ProcessDependencies
  readonly step: StepContext
  readonly target: ReturnType<typeof aiReviews.of>
  /** The review when the run began, maybe from the cache. Each append decides on the state of its own time. */
  readonly loaded: StartingReview
  /** The call that the review needed when the run began. */
  readonly planned: StartCall
}

/**
 * One run of the start job. It checks consent again, then makes the next provider call under an attempt. The row stays
 * due until the review awaits its result. The step continues with the next call at once.
 */
export async function start(todo: Todo, deps: ProcessDependencies, step: StepContext): Promise<StepOutcome> {
  const { store } = deps
  const { orgId } = todo
  const target = aiReviews.of(orgId, todo.key)
  const plan = (state: AiReviewState) => nextCall(state, step.now(), step.endedLeases)
  const loaded = await loadSufficient(store, target, (state) => plan(state).kind === 'call')
  const planned = plan(loaded)
  // A review may get its place after its end.
  if (hasEnded(loaded)) return release(todo, deps, step)
  if (planned.kind === 'wait') return planned
  if (!isStarting(loaded) || planned.kind === 'nothing' || planned.call === 'result') return { kind: 'done' }
  const run: Run = { todo, deps, step, target, loaded, planned }

  const admitted = loaded.isStarted ? 'admitted' : await admission(todo, deps, step, loaded)
  if (admitted === 'over-budget') return withoutCall(run, failed('budget_exceeded'))
  if (admitted !== 'admitted') return admitted

  const openForMs = deps.provider.openForMs()
  if (openForMs > 0) return { kind: 'retry', after: openForMs, reason: 'circuit_open' }

  const patientId = loaded.isStarted
    ? loaded.patientId
    : await callOutside(step, (signal) => deps.cases.patientOf({ orgId, caseId: loaded.caseId }, signal))
  if (patientId === null) return withoutCall(run, deferred(run, loaded, 'case_lookup_unavailable'))
  const review = loaded.isStarted ? loaded : await started(run, patientId)
  if (!isStarting(review)) return { kind: 'done' }

  const checkedAt = step.now()
  const question = { orgId, patientId, code: requiredConsentCode }
  const { answer: consent, decisionId } = await callOutside(step, (signal) => deps.consent.check(question, signal))
  if (consent === 'unavailable') return withoutCall(run, deferred(run, review, 'consent_check_unavailable'))
  if (consent === 'not-granted') return withoutCall(run, failed('consent_missing'))

  const prepared = await preparedCall(run, review)
  if (prepared.kind !== 'ready') return withoutCall(run, prepared)
  try {
    if ((await successorOf(store, loaded)) !== null) return { kind: 'done' }
    return await outsideCall({ todo, step, store }, target, {
      open: (opening, state) => attemptCall({ ...opening, next: planned, consent: { checkedAt, decisionId } }, state),
      isOpen: isStarting,
      waitsUntil: callWaitsUntil,
      call: async (signal) => {
        try {
          return await prepared.send(signal)
        } catch (error) {
          return { kind: 'thrown' as const, error }
        }
      },
      async conclude(answer, called, attempt) {
        const outcome = outcomeOf(answer, run, called)
        const command = { of: answeredOf(attempt, answer), outcome, now: step.now() }
        const recorded = (await isLost(run, outcome))
          ? undefined
          : await attempt.record((state) => recordOutcome(command, state))
        if (answer.kind === 'thrown') throw answer.error
        // An attempt that no longer counts records nothing: another worker is at it.
        const isRecorded = recorded !== undefined && recorded.events.length > 0
        const hasNextCall = outcome.kind === 'case-created' || outcome.kind === 'image-sent'
        return { kind: 'done', position: recorded?.position, continues: isRecorded && hasNextCall }
      },
    })
  } finally {
    prepared.close?.()
  }
}

async function started({ deps, step, todo, target, loaded }: Run, patientId: string): Promise<AiReviewState> {
  const addresses = await foreignAddresses(deps.store, loaded)
  const command = { patientId, addresses, now: step.now() }
  const { state } = await execute(deps.store, target, (current) => startReview(command, current), todo.attempt())
  return state
}

/** Records the outcome of a check before the call. */
async function withoutCall(run: Run, outcome: CallOutcome): Promise<StepOutcome> {
  if (await isLost(run, outcome)) return { kind: 'done' }
  const { deps, step, todo, target, planned } = run
  const command = { of: { unattempted: planned, endedLeases: step.endedLeases }, outcome, now: step.now() }
  const context = outcomeCommand(todo.attempt())
  return appends(deps.store, target, (state) => recordOutcome(command, state), context)
}

/** A review that has lost its slot must not end the assessment: its successor is at work. */
async function isLost({ deps, loaded }: Run, { kind }: CallOutcome): Promise<boolean> {
  return kind === 'failed' && (await successorOf(deps.store, loaded)) !== null
}

interface PreparedCall {
  readonly kind: 'ready'
  readonly send: (signal: AbortSignal) => Promise<ProviderAnswer<CallOutcome>>
  readonly close?: () => void
}

/** The planned call, or the outcome of an image that cannot be read. */
async function preparedCall(run: Run, review: StartingReview): Promise<PreparedCall | CallOutcome> {
  const { deps, step, planned } = run
  const { provider, configuration, failpoint } = deps
  switch (planned.call) {
    case 'case':
      return {
        kind: 'ready',
        async send(signal) {
          const answer = await provider.createCase(signal)
          failpoint('case-answered')
          return mapped(answer, ({ providerCaseId }) => ({ kind: 'case-created', providerCaseId }))
        },
      }
    case 'image':
      return preparedImage(run, review, planned)
    case 'process':
      return {
        kind: 'ready',
        async send(signal) {
          const answer = await provider.process(planned.providerCaseId, signal)
          failpoint('process-answered')
          return mapped(answer, ({ checksum }) => {
            const now = step.now()
            const deadlineAt = new Date(now.getTime() + configuration.providerResultTimeoutMs)
            const first = nextPollAt(pollScheduleOf(configuration), { attemptCount: 0, deadlineAt }, now)
            const polling = { nextPollAt: first ?? deadlineAt, deadlineAt }
            return { kind: 'processing-accepted', providerChecksum: checksum, ...polling }
          })
        },
      }
  }
}

/** Opens the image before the attempt, so an unreadable address leaves nothing open at the provider. */
async function preparedImage(
  run: Run,
  review: StartingReview,
  { imageId, providerCaseId }: CallOf<'image'>,
): Promise<PreparedCall | CallOutcome> {
  const { deps, step } = run
  const image = review.images.find((each) => each.imageId === imageId)
  if (image === undefined) throw new TypeError('the planned image is not one of its review')
  const { imageType, deviceManufacturer, deviceModel } = image
  const openImage = async (): Promise<FetchedImage> => {
    const address = await readAddress(deps, review, image)
    if (address === undefined) return { kind: 'refused', status: null }
    return deps.images.open(address, deps.configuration.stepTimeoutMs, step.signal)
  }

  requireTime(step)
  const fetched = await callOutside(step, openImage)
  if (fetched.kind === 'refused') return failed('image_fetch_failed', fetched.status)
  if (fetched.kind === 'unavailable') return deferred(run, review, 'image_host_unavailable', fetched.status)
  const { body, contentType, bytes } = fetched
  // An unread body may still fail. This must not end the process.
  body.on('error', () => undefined)
  // The host has used up the time of the call. This is a try, or a slow host would be asked for ever.
  if (!step.hasTime()) {
    body.destroy()
    return deferred(run, review, 'image_host_unavailable')
  }
  const about = { providerCaseId, imageType, correlationId: review.correlationId, deviceManufacturer, deviceModel }
  const upload = { ...about, contentType, bytes, open: once(body, openImage) }
  return {
    kind: 'ready',
    async send(signal) {
      const answer = await deps.provider.sendImage(upload, signal)
      deps.failpoint('image-sent')
      return mapped(answer, (sent) => ({ kind: 'image-sent', imageId, ...sent }))
    },
    close: () => void body.destroy(),
  }
}

/** Returns the open body for the first try, and a new one after a new login. */
function once(body: Readable, reopen: () => Promise<FetchedImage>): () => Promise<Readable> {
  let isTaken = false
  return async () => {
    if (!isTaken) {
      isTaken = true
      return body
    }
    const again = await reopen()
    if (again.kind !== 'image') throw new Error('an image could not be opened again')
    return again.body
  }
}

function mapped<From, To>(answer: ProviderAnswer<From>, map: (value: From) => To): ProviderAnswer<To> {
  return answer.kind === 'ok' ? { ...answer, value: map(answer.value) } : answer
}

/** A call that throws counts as a try. Otherwise a call that always throws repeats for ever. */
function outcomeOf(
  answer: ProviderAnswer<CallOutcome> | { readonly kind: 'thrown' },
  run: Run,
  review: StartingReview,
): CallOutcome {
  const { call } = run.planned
  if (answer.kind === 'ok') return answer.value
  if (answer.kind === 'thrown') return deferred(run, review, 'provider_upstream_transient', null, true)
  if (answer.kind === 'not-sent')
    return { kind: 'postponed', call, retryAt: new Date(run.step.now().getTime() + answer.afterMs) }
  const { status, isUnknown } = answer
  // During a start every 4xx but 401 ends the review (specification 7.3), a 429 too. Only polls are repeated after a 429.
  const classification = status === 429 ? 'provider_client_error' : answer.classification
  if (classification !== 'provider_upstream_transient') return failed(classification, status)
  return deferred(run, review, classification, status, isUnknown && call !== 'process')
}

/** The next retry of the schedule, or the end when it is used up. */
function deferred(
  { deps, step }: Run,
  { startRetries }: StartingReview,
  classification: Classification,
  upstreamStatus: number | null = null,
  abandonsProviderCase = false,
): CallOutcome {
  const retry = startRetries + 1
  const delay = nextDelay(deps.configuration.providerStartRetryScheduleMs, retry)
  if (delay === undefined) return failed(classification, upstreamStatus)
  const retryAt = new Date(step.now().getTime() + delay)
  return { kind: 'start-deferred', retry, classification, upstreamStatus, abandonsProviderCase, retryAt }
}

function failed(classification: Classification, upstreamStatus: number | null = null): CallOutcome {
  return { kind: 'failed', classification, upstreamStatus, providerOutcome: null, rawResponse: null, isPoll: false }
}

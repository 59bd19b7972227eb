import type { Readable } from 'node:stream'
import { attemptCall, type AttemptCall } from '../../commands/ai-review/attempt-call.ts'
import { callWaitsUntil, hasEnded, isStarting, nextCall, type PlannedCall } from '../../commands/ai-review/next-call.ts'
import { nextPollAt, pollScheduleOf } from '../../commands/ai-review/polling.ts'
import { recordOutcome, type CallOutcome, type RecordOutcome } from '../../commands/ai-review/record-outcome.ts'
import { successorOf } from '../../commands/ai-review/slot-holder.ts'
import { startReview, type StartReview } from '../../commands/ai-review/open-review.ts'
import { appends } from '../../engine/processes/attempt.ts'
import { execute, loadSufficient } from '../../engine/commands/execute.ts'
import {
  aiReviews,
  requiredConsentCode,
  type AiReviewState,
  type StartingReview,
} from '../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent, Classification } from '../../streams/ai-review/events.ts'
import type { FetchedImage } from '../adapters/image-fetch.ts'
import type { ProviderAnswer } from '../adapters/provider.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import {
  callOutside,
  outsideCall,
  requireTime,
  type Opening,
  type OutsideCall,
} from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'
import { outcomeCommand } from '../../engine/processes/step-identity.ts'
import { limited } from '../../platform/kit/time-limits.ts'
import { answeredOf } from './answered-call.ts'
import { foreignAddresses } from './foreign-addresses.ts'
import { admission, cancelErased, release } from './guard.steps.ts'
import { readAddress } from './signed-images.ts'

type StartCall = Exclude<PlannedCall, { readonly call: 'result' }>
type CallOf<Name extends StartCall['call']> = Extract<StartCall, { readonly call: Name }>

/** The checks before a further call of the same run have so many milliseconds. */
const nextChecksMs = 1_000

interface Run {
  readonly todo: Todo
  readonly deps: ProcessDependencies
  readonly step: StepContext
  readonly target: ReturnType<typeof aiReviews.of>
  /** The review when the run began, maybe from the cache. Each append decides on the state of its own time. */
  readonly loaded: StartingReview
  /** The call that the review needed when the run began. */
  readonly planned: StartCall
  /** The start of the review, which its first attempt or its end records with itself. */
  readonly beginning?: StartReview
}

/**
 * One run of the start job. It checks consent again, then makes the next provider call under an attempt. The row stays
 * due until the review awaits its result. The step continues with the next call at once.
 */
export const start: ProcessStep = async (todo, deps, step) => {
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
  const found: Run = { todo, deps, step, target, loaded, planned }

  const admitted = loaded.isStarted ? 'admitted' : await admission(todo, deps, step, loaded)
  if (admitted === 'over-budget') return withoutCall(found, failed('budget_exceeded'))
  if (admitted !== 'admitted') return admitted

  const openForMs = deps.provider.openForMs()
  if (openForMs > 0) return { kind: 'retry', after: openForMs, reason: 'circuit_open' }

  const patientId = loaded.isStarted
    ? loaded.patientId
    : await callOutside(step, (signal) => deps.cases.patientOf({ orgId, caseId: loaded.caseId }, signal))
  if (patientId === null) return withoutCall(found, deferred(found, loaded, 'case_lookup_unavailable'))
  if (deps.vault.isClosed(orgId, patientId)) return cancelErased(todo, deps, step)
  const { run, review } = loaded.isStarted ? { run: found, review: loaded } : await started(found, patientId)
  if (!isStarting(review)) return { kind: 'done' }

  const checked = await checkedCall(run, review)
  if (checked.kind !== 'ready') return withoutCall(run, checked)
  try {
    if ((await successorOf(store, loaded)) !== null) return { kind: 'done' }
    // The checks take time.
    if (deps.vault.isClosed(orgId, patientId)) return await cancelErased(todo, deps, step)
    const open = (opening: Opening, state: AiReviewState) =>
      withBeginning(run, state, (begun) => attemptCall({ ...opening, next: planned, consent: checked.consent }, begun))
    return await outsideCall({ todo, step, store }, target, callOf(run, checked, open))
  } finally {
    checked.close?.()
  }
}

type ReviewCall = OutsideCall<AiReviewState, StartingReview, AiReviewEvent, ProviderAnswer<CallOutcome> | Thrown>
type Thrown = { readonly kind: 'thrown'; readonly error: unknown }

/** A call after its checks. */
function callOf(run: Run, checked: CheckedCall, open: ReviewCall['open']): ReviewCall {
  const { step } = run
  return {
    open,
    isOpen: isStarting,
    waitsUntil: callWaitsUntil,
    async call(signal) {
      try {
        return await checked.send(signal)
      } catch (error) {
        return { kind: 'thrown', error }
      }
    },
    async conclude(answer, called, attempt) {
      const outcome = outcomeOf(answer, run, called)
      const command = { of: answeredOf(attempt, answer), outcome, now: step.now() }
      const hasNextCall = outcome.kind === 'case-created' || outcome.kind === 'image-sent'
      const ended = hasNextCall ? await nextCallOf(run, called, command, attempt) : undefined
      if (ended !== undefined) return ended
      const recorded = (await isLost(run, outcome))
        ? undefined
        : await attempt.record((state) => recordOutcome(command, state))
      if (answer.kind === 'thrown') throw answer.error
      // An attempt that no longer counts records nothing: another worker is at it.
      const isRecorded = recorded !== undefined && recorded.events.length > 0
      return { kind: 'done', position: recorded?.position, continues: isRecorded && hasNextCall }
    },
  }
}

/**
 * Makes the next call at once, and records its attempt with the outcome of the call before. Undefined if the checks
 * before the next call take long or fail: they must not keep the outcome from the stream.
 */
async function nextCallOf(
  run: Run,
  called: StartingReview,
  command: RecordOutcome,
  attempt: Parameters<ReviewCall['conclude']>[2],
): Promise<StepOutcome | undefined> {
  const { deps, step } = run
  if (step.mayCallAgain !== true || !step.hasTime() || deps.provider.openForMs() > 0) return undefined
  const after = recordOutcome(command, called).reduce(aiReviews.evolve, called)
  const planned = nextCall(after, step.now(), step.endedLeases)
  if (!isStarting(after) || planned.kind !== 'call' || planned.call === 'result') return undefined
  const next: Run = { todo: run.todo, deps, step, target: run.target, loaded: after, planned }
  const checking = checkedCall(next, after)
  const checked = await limited(nextChecksMs, checking).catch(() => undefined)
  if (checked?.kind !== 'ready') {
    void checking.then((late) => late.kind === 'ready' && late.close?.()).catch(() => undefined)
    return undefined
  }
  try {
    if (!step.hasTime() || (await successorOf(deps.store, after)) !== null) return undefined
    if (deps.vault.isClosed(run.todo.orgId, after.patientId ?? '')) return undefined
    const open = (opening: Opening, state: AiReviewState): AiReviewEvent[] => {
      const recorded = recordOutcome(command, state)
      const attempted = attemptCall(
        { ...opening, next: planned, consent: checked.consent },
        recorded.reduce(aiReviews.evolve, state),
      )
      return recorded.length === 0 || attempted.length === 0 ? [] : [...recorded, ...attempted]
    }
    return await attempt.recordAndCall(callOf(next, checked, open))
  } finally {
    checked.close?.()
  }
}

interface CheckedCall extends PreparedCall {
  readonly consent: AttemptCall['consent']
}

/** The planned call after the check of consent, or the outcome of what prevents it. */
async function checkedCall(run: Run, review: StartingReview): Promise<CheckedCall | CallOutcome> {
  const { deps, step, todo } = run
  const checkedAt = step.now()
  const question = { orgId: todo.orgId, patientId: review.patientId ?? '', code: requiredConsentCode }
  const { answer, decisionId } = await callOutside(step, (signal) => deps.consent.check(question, signal))
  if (answer === 'unavailable') return deferred(run, review, 'consent_check_unavailable')
  if (answer === 'not-granted') return failed('consent_missing')
  const prepared = await preparedCall(run, review)
  return prepared.kind === 'ready' ? { ...prepared, consent: { checkedAt, decisionId } } : prepared
}

/**
 * The start of the review. If the review did not know its patient, a withdrawal of consent would not find it. Then the
 * start is recorded before the check of consent.
 */
async function started(run: Run, patientId: string): Promise<{ readonly run: Run; readonly review: AiReviewState }> {
  const { deps, step, todo, target, loaded } = run
  const beginning = { patientId, addresses: await foreignAddresses(deps.store, loaded), now: step.now() }
  if (loaded.patientId === patientId)
    return { run: { ...run, beginning }, review: startReview(beginning, loaded).reduce(aiReviews.evolve, loaded) }
  const { state } = await execute(deps.store, target, (current) => startReview(beginning, current), todo.attempt())
  return { run, review: state }
}

/** The facts of a decision, after the start of the review if that is not recorded yet. */
function withBeginning(
  { beginning }: Run,
  state: AiReviewState,
  decide: (begun: AiReviewState) => AiReviewEvent[],
): AiReviewEvent[] {
  const facts = beginning === undefined ? [] : startReview(beginning, state)
  const others = decide(facts.reduce(aiReviews.evolve, state))
  return others.length === 0 ? [] : [...facts, ...others]
}

/** Records the outcome of a check before the call. */
async function withoutCall(run: Run, outcome: CallOutcome): Promise<StepOutcome> {
  if (await isLost(run, outcome)) return { kind: 'done' }
  const { deps, step, todo, target, planned } = run
  const command = { of: { unattempted: planned, endedLeases: step.endedLeases }, outcome, now: step.now() }
  const context = outcomeCommand(todo.attempt())
  const decide = (state: AiReviewState) => withBeginning(run, state, (begun) => recordOutcome(command, begun))
  return appends(deps.store, target, decide, context)
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
  const delay = deps.configuration.providerStartRetryScheduleMs[startRetries]
  if (delay === undefined) return failed(classification, upstreamStatus)
  const retryAt = new Date(step.now().getTime() + delay)
  return { kind: 'start-deferred', retry, classification, upstreamStatus, abandonsProviderCase, retryAt }
}

function failed(classification: Classification, upstreamStatus: number | null = null): CallOutcome {
  return { kind: 'failed', classification, upstreamStatus, providerOutcome: null, rawResponse: null, isPoll: false }
}

import type { Readable } from 'node:stream'
import { attemptCall } from '../../commands/ai-review/attempt-call.ts'
import { hasEnded, isStarting, nextCall, type PlannedCall } from '../../commands/ai-review/next-call.ts'
import { nextPollAt, pollScheduleOf } from '../../commands/ai-review/polling.ts'
import { recordOutcome, type CallOutcome } from '../../commands/ai-review/record-outcome.ts'
import { successorOf } from '../../commands/ai-review/slot-holder.ts'
import { startReview } from '../../commands/ai-review/open-review.ts'
import { execute, loadSufficient } from '../../engine/commands/execute.ts'
import { aiReviews, type AiReviewState, type StartingReview } from '../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent, Classification } from '../../streams/ai-review/events.ts'
import type { FetchedImage } from '../adapters/image-fetch.ts'
import type { ProviderAnswer } from '../adapters/provider.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { callOutside, isCutOff, openAttempt, type Attempt } from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'
import { outcomeCommand } from '../../engine/processes/step-identity.ts'
import { nextDelay } from '../../engine/processes/step-timing.ts'
import { foreignAddresses } from './foreign-addresses.ts'
import { admission, release } from './guard.steps.ts'
import { readAddress } from './signed-images.ts'

/** The consent that an analysis needs (specification 4.4). */
export const requiredConsentCode = 'ai_analysis'

type CallOf<Name extends PlannedCall['call']> = Extract<PlannedCall, { readonly call: Name }>

type OpenAttempt = Attempt<AiReviewState, AiReviewEvent>

interface Run {
  readonly deps: ProcessDependencies
  readonly step: StepContext
  readonly todo: Todo
  readonly target: ReturnType<typeof aiReviews.of>
  /** The review when the run began, maybe from the cache. Each append decides on the state of its own time. */
  readonly loaded: StartingReview
  /** The call that the review needed when the run began. */
  readonly planned: PlannedCall
}

/**
 * One run of the start job. It checks consent again, then makes the next provider call under an attempt. The row stays
 * due until the review awaits its result. The step continues with the next call at once.
 */
export async function start(todo: Todo, deps: ProcessDependencies, step: StepContext): Promise<StepOutcome> {
  const { orgId } = todo
  const target = aiReviews.of(orgId, todo.key)
  const loaded = await loadSufficient(
    deps.store,
    target,
    (state) => nextCall(state, step.now(), step.endedLeases).kind === 'call',
  )
  const planned = nextCall(loaded, step.now(), step.endedLeases)
  // A review may get its place after its end.
  if (hasEnded(loaded)) return release(todo, deps, step)
  if (!isStarting(loaded) || planned.kind === 'nothing') return { kind: 'done' }
  if (planned.kind === 'wait') return planned
  const run: Run = { deps, step, todo, target, loaded, planned }

  const admitted = loaded.isStarted ? 'admitted' : await admission(todo, deps, step, loaded)
  if (admitted === 'over-budget') return settle(run, null, failed('budget_exceeded', null))
  if (admitted !== 'admitted') return admitted

  const openForMs = deps.provider.openForMs()
  if (openForMs > 0) return { kind: 'retry', after: openForMs, reason: 'circuit_open' }

  const patientId = loaded.isStarted
    ? loaded.patientId
    : await callOutside(step, (signal) => deps.cases.patientOf({ orgId, caseId: loaded.caseId }, signal))
  if (patientId === null) return settle(run, null, deferred(run, loaded, 'case_lookup_unavailable', null))
  const review = loaded.isStarted ? loaded : await started(run, patientId)
  if (!isStarting(review)) return { kind: 'done' }

  const consentCheckedAt = step.now()
  const question = { orgId, patientId, code: requiredConsentCode }
  const consent = await callOutside(step, (signal) => deps.consent.check(question, signal))
  if (consent === 'unavailable') return settle(run, null, deferred(run, review, 'consent_check_unavailable', null))
  if (consent === 'not-granted') return settle(run, null, failed('consent_missing', null))
  switch (planned.call) {
    case 'case':
      return attempt(run, consentCheckedAt, (signal) => createCase(run, signal))
    case 'image':
      return sendImage(run, review, planned, consentCheckedAt)
    case 'process':
      return attempt(run, consentCheckedAt, (signal) => askForProcessing(run, planned, signal))
    case 'result':
      return { kind: 'done' }
  }
}

async function started({ deps, step, todo, target, loaded }: Run, patientId: string): Promise<AiReviewState> {
  const addresses = await foreignAddresses(deps.store, loaded)
  const command = { patientId, addresses, now: step.now() }
  const { state } = await execute(deps.store, target, (current) => startReview(command, current), todo.attempt())
  return state
}

async function createCase({ deps }: Run, signal: AbortSignal): Promise<ProviderAnswer<CallOutcome>> {
  const answer = await deps.provider.createCase(signal)
  deps.failpoint('case-answered')
  return mapped(answer, ({ providerCaseId }) => ({ kind: 'case-created', providerCaseId }))
}

async function askForProcessing(
  { deps, step }: Run,
  { providerCaseId }: CallOf<'process'>,
  signal: AbortSignal,
): Promise<ProviderAnswer<CallOutcome>> {
  const answer = await deps.provider.process(providerCaseId, signal)
  deps.failpoint('process-answered')
  return mapped(answer, ({ checksum }) => {
    const now = step.now()
    const deadlineAt = new Date(now.getTime() + deps.configuration.providerResultTimeoutMs)
    const first = nextPollAt(pollScheduleOf(deps.configuration), { attemptCount: 0, deadlineAt }, now)
    return { kind: 'processing-accepted', providerChecksum: checksum, nextPollAt: first ?? deadlineAt, deadlineAt }
  })
}

/** Opens the image before the attempt, so an unreadable address leaves nothing open at the provider. */
async function sendImage(
  run: Run,
  review: StartingReview,
  { imageId, providerCaseId }: CallOf<'image'>,
  consentCheckedAt: Date,
): Promise<StepOutcome> {
  const { deps, step } = run
  const image = review.images.find((each) => each.imageId === imageId)
  if (image === undefined) return { kind: 'done' }
  const openImage = async (): Promise<FetchedImage> => {
    const address = await readAddress(deps, review, image)
    if (address === undefined) return { kind: 'refused', status: null }
    return deps.images.open(address, deps.configuration.stepTimeoutMs, step.signal)
  }

  const fetched = await callOutside(step, openImage)
  if (fetched.kind === 'refused') return settle(run, null, failed('image_fetch_failed', fetched.status))
  if (fetched.kind === 'unavailable') {
    return settle(run, null, deferred(run, review, 'image_host_unavailable', fetched.status))
  }
  const { body, contentType, bytes } = fetched
  // An unread body may still fail. This must not end the process.
  body.on('error', () => undefined)
  const { imageType, deviceManufacturer, deviceModel } = image
  const upload = {
    providerCaseId,
    imageType,
    correlationId: review.correlationId,
    deviceManufacturer,
    deviceModel,
    contentType,
    bytes,
    open: once(body, openImage),
  }
  try {
    return await attempt(run, consentCheckedAt, async (signal) => {
      const answer = await deps.provider.sendImage(upload, signal)
      deps.failpoint('image-sent')
      return mapped(answer, (sent) => ({ kind: 'image-sent', imageId, ...sent }))
    })
  } finally {
    body.destroy()
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

type Call = (signal: AbortSignal) => Promise<ProviderAnswer<CallOutcome>>

async function attempt(run: Run, consentCheckedAt: Date, call: Call): Promise<StepOutcome> {
  const { deps, todo, step, target, planned: next } = run
  if ((await successorOf(deps.store, run.loaded)) !== null) return { kind: 'done' }
  const opened = await openAttempt({ todo, step, store: deps.store }, target, (opening, state) =>
    attemptCall({ ...opening, next, consentCheckedAt }, state),
  )
  const { state: review } = opened
  if (!opened.isOpen || !isStarting(review)) return unclaimed(review, step)
  const answer = await answerOf(run, review, opened, call)
  if (answer.kind === 'ok') return settle(run, opened, answer.value)
  if (answer.kind === 'not-sent') {
    const retryAt = new Date(step.now().getTime() + answer.afterMs)
    return settle(run, opened, { kind: 'postponed', call: next.call, retryAt })
  }
  const { status, isUnknown } = answer
  // Specification 7.3 has no retry for a 429 while starting: it counts as any other 4xx.
  const classification = status === 429 ? 'provider_client_error' : answer.classification
  if (classification !== 'provider_upstream_transient') return settle(run, opened, failed(classification, status))
  const abandons = isUnknown && next.call !== 'process'
  return settle(run, opened, deferred(run, review, classification, status, abandons))
}

/**
 * A call that throws counts as a try before its error goes on. Otherwise a call that always throws repeats for ever.
 */
async function answerOf(
  run: Run,
  review: StartingReview,
  opened: OpenAttempt,
  call: Call,
): Promise<ProviderAnswer<CallOutcome>> {
  try {
    return await opened.call(call)
  } catch (error) {
    if (!isCutOff(run.step.signal))
      await settle(run, opened, deferred(run, review, 'provider_upstream_transient', null, true))
    throw error
  }
}

function unclaimed(state: AiReviewState, step: StepContext): StepOutcome {
  const next = nextCall(state, step.now(), step.endedLeases)
  return next.kind === 'wait' ? next : { kind: 'done' }
}

/** The next retry of the schedule, or the end when it is used up. */
function deferred(
  { deps, step }: Run,
  review: StartingReview,
  classification: Classification,
  upstreamStatus: number | null,
  abandonsProviderCase = false,
): CallOutcome {
  const retry = review.startRetries + 1
  const delay = nextDelay(deps.configuration.providerStartRetryScheduleMs, retry)
  if (delay === undefined) return failed(classification, upstreamStatus)
  const retryAt = new Date(step.now().getTime() + delay)
  return { kind: 'start-deferred', retry, classification, upstreamStatus, abandonsProviderCase, retryAt }
}

function failed(classification: Classification, upstreamStatus: number | null): CallOutcome {
  return { kind: 'failed', classification, upstreamStatus, providerOutcome: null, rawResponse: null, isPoll: false }
}

/** Records an outcome: of an attempt, or (null) of a check before it. */
async function settle(run: Run, opened: OpenAttempt | null, outcome: CallOutcome): Promise<StepOutcome> {
  const { deps, step, target, loaded } = run
  // A review that has lost its slot must not end the assessment: its successor is at work.
  if (outcome.kind === 'failed' && (await successorOf(deps.store, loaded)) !== null) return { kind: 'done' }
  const of =
    opened === null ? { unattempted: run.planned, endedLeases: run.step.endedLeases } : { attemptId: opened.id }
  const command = { of, outcome, now: step.now() }
  const decide = (state: AiReviewState) => recordOutcome(command, state)
  const { events, position } =
    opened === null
      ? await execute(deps.store, target, decide, outcomeCommand(run.todo.attempt()))
      : await opened.record(decide)
  // An attempt that no longer counts records nothing: another worker is at it.
  return { kind: 'done', position, continues: events.length > 0 && hasNextCall(outcome) }
}

function hasNextCall({ kind }: CallOutcome): boolean {
  return kind === 'case-created' || kind === 'image-sent'
}

function mapped<From, To>(answer: ProviderAnswer<From>, map: (value: From) => To): ProviderAnswer<To> {
  return answer.kind === 'ok' ? { kind: 'ok', value: map(answer.value) } : answer
}

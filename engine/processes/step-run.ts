import { EgressError } from '../../platform/outbound/egress-error.ts'
import { isDatabaseUnavailable } from '../../platform/database/database.ts'
import { Problem } from '../../platform/http/problems.ts'
import { isObjectStoreAway, isRefused } from '../../platform/storage/object-store-away.ts'
import { errorOf } from '../../platform/outbound/error-of.ts'
import { backoffMs } from '../../platform/kit/backoff.ts'
import { AppendOutcomeUnknownError, EventStoreFullError, EventStoreUnavailableError } from '../store/errors.ts'
import type { Claimed, Completion } from './claims.ts'
import type { BoundProcess, StepContext, StepOutcome, TodoRow } from './process.ts'

/** A lease, and the limits of a step under it. */
export interface Term {
  /** The end of the lease, RFC 3339. */
  readonly leaseUntil: string
  /** Until the signal of the step aborts, in milliseconds. */
  readonly timeoutMs: number
  /**
   * Until a step that ignores its signal is abandoned, in milliseconds. What it appends later is decided on the state
   * that its stream has then.
   */
  readonly abandonMs: number
}

/** The end of a lease taken now, RFC 3339, for the event that opens an attempt. */
export function leaseUntil(now: Date, leaseMs: number): string {
  return new Date(now.getTime() + leaseMs).toISOString()
}

/**
 * A claim may have waited for the database, so its lease may have little left. If the step outlived its lease, two
 * workers would make the same call at once. Undefined if too little is left.
 */
export function termUntil(
  lease: string,
  now: Date,
  { stepTimeoutMs, stepLeaseMs }: { readonly stepTimeoutMs: number; readonly stepLeaseMs: number },
): Term | undefined {
  const abandonMs = Math.min(stepLeaseMs, Date.parse(lease) - now.getTime())
  const timeoutMs = Math.min(stepTimeoutMs, abandonMs - (stepLeaseMs - stepTimeoutMs) / 2)
  return timeoutMs > 0 ? { leaseUntil: lease, timeoutMs, abandonMs } : undefined
}

const afterError = { firstMs: 200, mostMs: 60_000 }
const afterNothing = { firstMs: 100, mostMs: 10_000 }

export type StepResult = StepOutcome | { readonly error: unknown }

/** Runs a step within its limits. Never rejects. The `signal` aborts when the workers stop. */
export async function runStep(
  run: BoundProcess['run'],
  todo: TodoRow,
  surroundings: Omit<StepContext, 'hasTime' | 'leaseUntil'>,
  { leaseUntil: lease, timeoutMs, abandonMs }: Term,
): Promise<StepResult> {
  const begunMs = performance.now()
  const hasTime = (): boolean => performance.now() - begunMs < timeoutMs / 2
  const timeUp = new AbortController()
  const abandonment = Promise.withResolvers<never>()
  let timer = setTimeout(() => {
    // After a suspension of the process, timers run before the answers that have arrived: the answers must count.
    setImmediate(() => timeUp.abort(new DOMException('the step took too long', 'TimeoutError')))
    timer = setTimeout(
      () => abandonment.reject(new AbandonedStepError(`step ${todo.step} ignores its time limit`)),
      abandonMs - timeoutMs,
    )
  }, timeoutMs)
  const signal = AbortSignal.any([surroundings.signal, timeUp.signal])
  try {
    const context = { ...surroundings, leaseUntil: lease, signal, hasTime }
    return await Promise.race([run(todo, context), abandonment.promise])
  } catch (error) {
    if (error instanceof EgressError && error.code === 'circuit_open') {
      return { kind: 'retry', after: error.retryAfterMs ?? 1_000, reason: 'circuit_open' }
    }
    return { error }
  } finally {
    clearTimeout(timer)
  }
}

/** An append that gets no answer goes on for longer than its step. */
class AbandonedStepError extends Error {
  override readonly name = 'AbandonedStepError'
}

const awayErrors = [
  AbandonedStepError,
  AppendOutcomeUnknownError,
  EventStoreFullError,
  EventStoreUnavailableError,
] as const

/** Whether a server of the platform was away. This says nothing about the work, which goes on soon after its return. */
function isServerAway(error: unknown): boolean {
  if (error instanceof Problem) return isPassing(error)
  return awayErrors.some((away) => error instanceof away) || isDatabaseUnavailable(error) || isObjectStoreAway(error)
}

/** A refusal of the object store is no outage, and the identity provider no server of the platform. */
function isPassing({ code, status, cause }: Problem): boolean {
  return status === 503 && code !== 'identity-provider-unavailable' && !isRefused(cause)
}

/** For operators. A step that waits for another attempt has neither failed nor succeeded. */
function failureOf(result: StepResult): Pick<Completion, 'isFailed' | 'isThrown' | 'error'> {
  if ('error' in result) {
    const failed = { isFailed: true, error: errorOf(result.error) }
    return isServerAway(result.error) ? failed : { ...failed, isThrown: true }
  }
  if (result.kind === 'wait') return {}
  if (result.kind === 'done') return { isFailed: false }
  return { isFailed: true, error: { class: 'put_off', code: result.reason, host: null } }
}

/** When the row may be claimed again, and which position its list must have passed before. */
export function completionOf(
  { todo: { key, step }, failures }: Pick<Claimed, 'todo' | 'failures'>,
  result: StepResult,
  now: Date,
  random: () => number,
): Completion {
  const row = { key, step, fence: undefined, isDone: false, ...failureOf(result), endedAt: now }
  const after = (ms: number): Date => new Date(now.getTime() + ms)
  const later = (backoff: typeof afterError): Completion => {
    return { ...row, notBefore: after(backoffMs(backoff, failures + 1, random)), failures: failures + 1 }
  }
  if ('error' in result) return later(afterError)
  // A wait is no success: a step that throws once per lease must still be tried less and less often.
  if (result.kind === 'wait') return { ...row, notBefore: result.until, failures }
  if (result.kind === 'retry') return { ...row, notBefore: after(result.after), failures: 0 }
  if (result.position !== undefined)
    return { ...row, notBefore: now, fence: result.position, failures: 0, isDone: true }
  // The stream no longer needs the step. The list will show this; until then the row is tried less and less often.
  return later(afterNothing)
}

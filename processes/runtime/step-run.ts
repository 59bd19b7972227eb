import { EgressError } from '../../platform/outbound/egress-error.ts'
import { backoffMs } from '../../platform/kit/backoff.ts'
import type { Claimed, Completion } from './claims.ts'
import type { StepContext, StepOutcome, TodoRow } from './process.ts'

export type BoundStep = (todo: TodoRow, context: StepContext) => Promise<StepOutcome>

export interface StepLimits {
  /** After this the step's signal aborts, in milliseconds. */
  readonly timeoutMs: number
  /** After this a step that heeds no signal is given up, in milliseconds; its stream fences what it may still do. */
  readonly abandonMs: number
  /** Aborts when the workers stop. */
  readonly signal: AbortSignal
}

/**
 * What is left of a lease to the step that it was taken for, in milliseconds: the claim may have waited for its database. A step
 * that outlived its lease would be at its call while another worker makes the same one. Undefined where too little is left.
 */
export function limitsWithin(
  leftMs: number,
  { stepTimeoutMs, stepLeaseMs }: { readonly stepTimeoutMs: number; readonly stepLeaseMs: number },
): Omit<StepLimits, 'signal'> | undefined {
  const abandonMs = Math.min(stepLeaseMs, leftMs)
  const timeoutMs = Math.min(stepTimeoutMs, abandonMs - (stepLeaseMs - stepTimeoutMs) / 2)
  return timeoutMs > 0 ? { timeoutMs, abandonMs } : undefined
}

export class StepAbandonedError extends Error {
  override readonly name = 'StepAbandonedError'
}

const afterError = { firstMs: 200, mostMs: 60_000 }
const afterNothing = { firstMs: 100, mostMs: 10_000 }

export type StepResult = StepOutcome | { readonly error: unknown }

/** Runs a step within its limits. Never rejects. */
export async function runStep(
  step: BoundStep,
  todo: TodoRow,
  surroundings: Omit<StepContext, 'signal'>,
  { timeoutMs, abandonMs, signal }: StepLimits,
): Promise<StepResult> {
  const stopping = new AbortController()
  const stop = (): void => stopping.abort(signal.reason)
  const abandonment = Promise.withResolvers<never>()
  let timer = setTimeout(() => {
    // Of a process that stood still, timers come before the answers that have arrived meanwhile: those are read first.
    setImmediate(() => stopping.abort(new DOMException('the step took too long', 'TimeoutError')))
    timer = setTimeout(
      () => abandonment.reject(new StepAbandonedError(`step ${todo.step} heeds no time limit`)),
      abandonMs - timeoutMs,
    )
  }, timeoutMs)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    const context = { ...surroundings, signal: stopping.signal }
    return await Promise.race([step(todo, context), abandonment.promise])
  } catch (error) {
    if (error instanceof EgressError && error.code === 'circuit_open') {
      return { kind: 'retry', after: error.retryAfterMs ?? 1_000, reason: 'circuit_open' }
    }
    return { error }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/** When the row may be claimed again, and what its list must have seen before. */
export function completionOf(
  { todo, failures }: Claimed,
  result: StepResult,
  now: Date,
  random: () => number,
): Completion {
  const row = { key: todo.key, step: todo.step }
  const after = (ms: number): Date => new Date(now.getTime() + ms)
  if ('error' in result) {
    return {
      ...row,
      notBefore: after(backoffMs(afterError, failures + 1, random)),
      fence: undefined,
      failures: failures + 1,
    }
  }
  // Waiting for a lease is no success: a step that throws once per lease must still be looked at less and less.
  if (result.kind === 'wait') return { ...row, notBefore: result.until, fence: undefined, failures }
  if (result.kind === 'retry') return { ...row, notBefore: after(result.after), fence: undefined, failures: 0 }
  if (result.position !== undefined) return { ...row, notBefore: now, fence: result.position, failures: 0 }
  // The stream wants the step no more, which the list will see by itself: until then it is looked at less and less.
  return {
    ...row,
    notBefore: after(backoffMs(afterNothing, failures + 1, random)),
    fence: undefined,
    failures: failures + 1,
  }
}

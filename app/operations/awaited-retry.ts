import type { Operations } from '../../contracts/operations/operations.ts'
import type { Retry } from '../../contracts/operations/record.ts'
import { pause } from '../../platform/kit/backoff.ts'

/** Between two looks at a retry, in milliseconds. */
const lookMs = 500
/** A restart of a processor takes less. In milliseconds. */
const processorWithinMs = 60_000

interface AwaitedRetry {
  readonly retry: Retry
  /** No processor has run for a minute, so nothing works on it. */
  readonly isLeft: boolean
}

/** Resolves when each item of a retry has an outcome, or when no processor has run for `withinMs`. */
export async function awaitedRetry(
  operations: Pick<Operations, 'retryOf' | 'health'>,
  begun: Retry,
  withinMs = processorWithinMs,
): Promise<AwaitedRetry> {
  let seenMs = performance.now()
  for (let retry = begun; ; retry = (await operations.retryOf(retry.id)) ?? retry) {
    if (retry.ended_at !== null) return { retry, isLeft: false }
    const { processes } = await operations.health()
    if (processes.some(({ status, roles }) => status === 'running' && roles.includes('processor')))
      seenMs = performance.now()
    else if (performance.now() - seenMs >= withinMs) return { retry, isLeft: true }
    await pause(lookMs)
  }
}

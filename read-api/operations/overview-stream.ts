import type { Operations } from '../../contracts/operations/operations.ts'
import { pause } from '../../platform/kit/backoff.ts'

/** So long a client waits before it connects again, in milliseconds. */
const retryMs = 2_000
/** In milliseconds. Callers share an overview for a second, so a look costs little. */
const lookEveryMs = 1_000
const everyMs = 5_000

/** A clock in milliseconds, and how to wait. */
interface Timing {
  readonly nowMs: () => number
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
}

/**
 * The text of a stream of server-sent events: an overview at once, then one each five seconds and at each change of its
 * status. If the overview cannot be read, a comment keeps the connection.
 */
export async function* overviewStream(
  operations: Pick<Operations, 'overview'>,
  signal: AbortSignal,
  { nowMs, pause: wait }: Timing = { nowMs: () => performance.now(), pause },
): AsyncGenerator<string, void, undefined> {
  yield `retry: ${retryMs}\n\n`
  let shown: string | undefined
  let shownMs = -Infinity
  while (!signal.aborted) {
    const overview = await operations.overview().catch(() => undefined)
    const isDue = nowMs() - shownMs >= everyMs
    if (isDue || (overview !== undefined && overview.status !== shown)) {
      shownMs = nowMs()
      shown = overview?.status ?? shown
      yield overview === undefined ? ': no overview\n\n' : `data: ${JSON.stringify(overview)}\n\n`
    }
    await wait(lookEveryMs, signal)
  }
}

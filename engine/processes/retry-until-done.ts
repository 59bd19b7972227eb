import type { Logger } from '../../platform/observability/logging.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'

const backoff = { firstMs: 200, mostMs: 5_000 }
const sayAgainAfterMs = 60_000

/** When each log last got the warning. */
const saidAt = new WeakMap<Logger, number>()

/**
 * Repeats the work until it succeeds, with growing pauses, because the event store or the database may be away.
 * Undefined once the signal aborts. All workers together write at most one warning a minute.
 */
export async function retryUntilDone<Result>(
  work: () => Promise<Result>,
  logger: Logger,
  signal: AbortSignal,
  nowMs = () => performance.now(),
): Promise<Result | undefined> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      const fields = { component: 'processes', attempt, err: error }
      const isNews = nowMs() - (saidAt.get(logger) ?? -Infinity) >= sayAgainAfterMs
      if (isNews) saidAt.set(logger, nowMs())
      logger[isNews ? 'warn' : 'debug'](fields, 'workers cannot reach what they need')
      await pause(backoffMs(backoff, attempt), signal)
    }
  }
  return undefined
}

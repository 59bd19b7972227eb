import type { Logger } from '../../platform/observability/logging.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'

const backoff = { firstMs: 200, mostMs: 5_000 }

/**
 * Does work of the workers until it succeeds, with growing pauses: the event store or the database may be away.
 * Undefined once the signal aborts.
 */
export async function retryUntilDone<Result>(
  work: () => Promise<Result>,
  logger: Logger,
  signal: AbortSignal,
): Promise<Result | undefined> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      logger.warn({ component: 'processes', attempt, err: error }, 'workers cannot reach what they need')
      await pause(backoffMs(backoff, attempt), signal)
    }
  }
  return undefined
}

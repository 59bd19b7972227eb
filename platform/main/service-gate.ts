import type { PlatformToken } from '../../processes/adapters/platform-token.ts'
import { backoffMs, pause } from '../../streams/store/backoff.ts'
import type { Logger } from '../logging.ts'

const backoff = { firstMs: 100, mostMs: 2_000 }

/**
 * Waits until our own services admit us, in whatever process they run: a step that begins before loses a try to a
 * platform that is only starting. Resolves also when the signal aborts.
 */
export async function untilServicesAnswer(token: Pick<PlatformToken, 'get'>, logger: Logger, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      await token.get()
      return
    } catch (err) {
      if (attempt % 10 === 1) logger.warn({ component: 'processes', attempt, err }, 'steps wait: our own services do not admit us yet')
      await pause(backoffMs(backoff, attempt), signal)
    }
  }
}

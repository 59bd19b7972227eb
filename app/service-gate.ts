import { callService, type ServiceCalls } from '../processes/adapters/service-call.ts'
import { backoffMs, pause } from '../platform/kit/backoff.ts'
import type { Logger } from '../platform/observability/logging.ts'

const backoff = { firstMs: 100, mostMs: 2_000 }

/**
 * Waits until our own services answer at these addresses and accept our credentials, in any process. An earlier step
 * would waste an attempt while the platform starts. Also resolves when the signal aborts.
 */
export async function untilServicesAnswer(
  calls: ServiceCalls,
  baseUrls: readonly string[],
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      const replies = await Promise.all(
        [...new Set(baseUrls)].map((base) => callService(calls, new URL(`${base}/health/live`), {}, signal)),
      )
      if (replies.every((reply) => reply?.status === 200)) return
      if (attempt % 10 === 1)
        logger.warn({ component: 'processes', attempt }, 'steps wait: our own services do not answer yet')
    } catch (err) {
      if (attempt % 10 === 1)
        logger.warn({ component: 'processes', attempt, err }, 'steps wait: our own services do not answer yet')
    }
    await pause(backoffMs(backoff, attempt), signal)
  }
}

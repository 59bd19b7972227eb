import type { Pool } from '../../platform/database/database.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { AdvisoryLocks } from '../../projections/runtime/advisory-locks.ts'
import { pause } from '../../platform/kit/backoff.ts'
import type { Swept } from './sweep-objects.ts'

export interface SweepsOptions {
  readonly sweep: (signal: AbortSignal) => Promise<Swept>
  readonly everyMs: number
  /** Of the database in which instances agree on who sweeps. */
  readonly pool: Pool
  readonly logger: Logger
}

/** Milliseconds between two sweeps: what is past its time is gone half of that time after, and ten minutes at most. */
export function sweepEveryMs({ stagingTtlSeconds }: { readonly stagingTtlSeconds: number }): number {
  return Math.min(stagingTtlSeconds * 500, 600_000)
}

/** One lock for all instances of a platform. */
const lockName = 'housekeeping sweeps'

/**
 * Sweeps now and then, the first time at once, unless another instance does: whoever sweeps goes on until it ends, and
 * another one takes over when its next sweep is due. One that fails is logged and tried again then.
 */
export function startSweeps({ sweep, everyMs, pool, logger }: SweepsOptions): { close(): Promise<void> } {
  const closing = new AbortController()
  let locks: AdvisoryLocks | undefined
  const running = run()

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        if (await isOurs()) await sweepOnce()
      } catch (error) {
        logger.warn({ component: 'sweeps', err: error }, 'sweeping the object store failed')
      }
      await pause(everyMs, closing.signal)
    }
    await locks?.close()
  }

  /** Where the lock is lost in the middle of a sweep, two of them do no harm. */
  async function isOurs(): Promise<boolean> {
    if (locks?.isLost === true) locks = undefined
    locks ??= await AdvisoryLocks.open(pool, () => undefined)
    if (await locks.tryAcquire(lockName)) return true
    await locks.close()
    locks = undefined
    return false
  }

  async function sweepOnce(): Promise<void> {
    const { staging, images, uploads } = await sweep(closing.signal)
    const count = staging + images + uploads
    if (count > 0) logger.info({ component: 'sweeps', count }, 'objects that nothing names were removed')
  }

  return {
    close: async () => {
      closing.abort()
      await running
    },
  }
}

import { createTask } from 'node-cron'
import type { Pool } from '../../platform/database/database.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { AdvisoryLocks } from '../../platform/database/advisory-locks.ts'

/** Something that has become unnecessary, and its removal. */
export interface Sweep {
  /** For the log, such as `keys past their retention`. */
  readonly what: string
  /** Resolves with how many were removed. */
  readonly run: (signal: AbortSignal) => Promise<number>
}

interface SweepsOptions {
  /** One after another. */
  readonly sweeps: readonly Sweep[]
  /** A cron expression, with seconds or without. */
  readonly schedule: string
  /** A lock in this database elects the instance that sweeps. */
  readonly pool: Pool
  readonly logger: Logger
}

/** Sweeps twice within STAGING_TTL_SECONDS, and at least every ten minutes. */
export function sweepSchedule({ stagingTtlSeconds }: { readonly stagingTtlSeconds: number }): string {
  const seconds = Math.floor(stagingTtlSeconds / 2)
  if (seconds < 60) return `*/${Math.max(seconds, 1)} * * * * *`
  return `*/${Math.min(Math.floor(seconds / 60), 10)} * * * *`
}

/** One lock for all instances of a platform. */
const lockName = 'housekeeping sweeps'

/**
 * Sweeps at once and then by the schedule, in one instance at a time. That instance keeps the lock until it ends;
 * another one then takes over at its next run. A failed sweep is logged and repeated at the next run,
 * and the others run.
 */
export function startSweeps({ sweeps, schedule, pool, logger }: SweepsOptions): { close(): Promise<void> } {
  const closing = new AbortController()
  let locks: AdvisoryLocks | undefined
  let running: Promise<void> | undefined
  const task = createTask(schedule, run, { name: 'sweeps', timezone: 'Etc/UTC', suppressMissedWarning: true })
  void task.start()
  void run()

  /** A run that becomes due during another run is left out. */
  function run(): Promise<void> {
    running ??= sweepIfElected().finally(() => (running = undefined))
    return running
  }

  async function sweepIfElected(): Promise<void> {
    try {
      if (!(await isElected())) return
    } catch (error) {
      logger.warn({ component: 'sweeps', err: error }, 'the election of the sweeping instance failed')
      return
    }
    for (const sweep of sweeps) await sweepOnce(sweep)
  }

  /** The lock can be lost in the middle of a sweep. Two sweeps at once do no harm. */
  async function isElected(): Promise<boolean> {
    if (locks?.isLost === true) locks = undefined
    locks ??= await AdvisoryLocks.open(pool, () => undefined)
    if (await locks.tryAcquire(lockName)) return true
    await locks.close()
    locks = undefined
    return false
  }

  async function sweepOnce({ what, run: sweep }: Sweep): Promise<void> {
    if (closing.signal.aborted) return
    try {
      const count = await sweep(closing.signal)
      if (count > 0) logger.info({ component: 'sweeps', count }, `${what} were removed`)
    } catch (error) {
      logger.warn({ component: 'sweeps', err: error }, `${what} cannot be removed yet`)
    }
  }

  return {
    close: async () => {
      closing.abort()
      await task.destroy()
      await running
      await locks?.close()
    },
  }
}

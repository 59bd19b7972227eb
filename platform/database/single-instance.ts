import type { Pool } from 'pg'
import { backoffMs, pause } from '../kit/backoff.ts'
import type { Logger } from '../observability/logging.ts'
import { AdvisoryLocks } from './advisory-locks.ts'

export interface SingleInstance {
  /** Name of the advisory lock. */
  readonly lock: string
  /** Without it the work runs at once: then only the revisions of its appends fence. */
  readonly pool: Pool | undefined
  readonly logger: Logger
  /** Milliseconds between two tries to take the lock. Default 1,000. */
  readonly standbyMs?: number | undefined
  readonly signal: AbortSignal
  /** Its signal aborts too when the lock is lost. */
  readonly work: (signal: AbortSignal) => Promise<void>
  readonly onStandby: () => void
}

const backoff = { firstMs: 50, mostMs: 10_000 }

/** Runs work on one instance at a time, by an advisory lock, until the signal aborts. The others stand by. */
export async function runOnOneInstance(options: SingleInstance): Promise<void> {
  const { lock, logger, signal } = options
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      await holdLock(options)
      attempt = 1
    } catch (error) {
      logger.warn({ component: lock, attempt, err: error }, 'work of one instance lost its lock or its database')
    }
    await pause(backoffMs(backoff, attempt), signal)
  }
}

async function holdLock({ lock, pool, standbyMs = 1_000, signal, work, onStandby }: SingleInstance): Promise<void> {
  if (pool === undefined) return work(signal)
  const lost = new AbortController()
  const locks = await AdvisoryLocks.open(pool, () => lost.abort())
  const held = AbortSignal.any([signal, lost.signal])
  try {
    while (!held.aborted && !(await locks.tryAcquire(lock))) await pause(standbyMs, held)
    await work(held)
  } finally {
    onStandby()
    await locks.close()
  }
}

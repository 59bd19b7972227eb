import type { Pool } from 'pg'
import { pause } from '../../platform/kit/backoff.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { AdvisoryLocks } from '../projections/advisory-locks.ts'

export interface InstanceIdentityOptions {
  /** Name of the instance. A process that starts again has the same one. */
  readonly instance: string
  readonly pool: Pool
  readonly logger: Logger
  /** Aborts when the workers close. */
  readonly signal: AbortSignal
}

/** How long a start waits for the lock of a killed process, in milliseconds. The database may notice its end late. */
const mostWaitMs = 5_000
const againMs = 250

/**
 * Holds the identity of an instance by an advisory lock, so that two living processes never have the same one. A lock
 * that is lost with its connection is taken again.
 */
export class InstanceIdentity {
  readonly #options: InstanceIdentityOptions
  #locks: AdvisoryLocks | undefined

  constructor(options: InstanceIdentityOptions) {
    this.#options = options
  }

  /** False if another process holds the identity. */
  async take(): Promise<boolean> {
    const { signal, instance, logger } = this.#options
    const untilMs = performance.now() + mostWaitMs
    while (!(await this.#tryLock())) {
      if (signal.aborted) return false
      if (performance.now() >= untilMs) {
        logger.warn(
          { component: 'processes', reason: 'INSTANCE_ID' },
          `another process is the instance ${instance}: steps that a crash cuts off wait for their lease`,
        )
        return false
      }
      await pause(againMs, signal)
    }
    return true
  }

  async close(): Promise<void> {
    await this.#locks?.close()
  }

  async #tryLock(): Promise<boolean> {
    const { pool, instance, signal } = this.#options
    this.#locks ??= await AdvisoryLocks.open(pool, () => void this.#takeAgain())
    if (!signal.aborted) return this.#locks.tryAcquire(`instance ${instance}`)
    // The workers closed meanwhile. A connection that stays open would hold up the end of the pool.
    await this.close()
    return false
  }

  async #takeAgain(): Promise<void> {
    const { signal } = this.#options
    this.#locks = undefined
    while (!signal.aborted && !(await this.#tryLock().catch(() => false))) await pause(againMs, signal)
  }
}

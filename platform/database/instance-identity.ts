import type { Pool } from 'pg'
import { pause } from '../kit/backoff.ts'
import { createTurns } from '../kit/turns.ts'
import { AdvisoryLocks } from './advisory-locks.ts'

/** How long a start waits for the lock of a killed process, in milliseconds. The database may notice its end late. */
const mostWaitMs = 5_000
const againMs = 250

/**
 * Holds the identity of an instance by an advisory lock, so that two living processes never have the same one. A lock
 * that is lost with its connection is taken again, until the signal aborts.
 */
export class InstanceIdentity {
  readonly #lock: string
  readonly #pool: Pool
  readonly #signal: AbortSignal
  /** Two connections at once would lock each other out. */
  readonly #turns = createTurns(1)
  #locks: AdvisoryLocks | undefined

  /** A process that starts again has the same `instance`. */
  constructor(instance: string, pool: Pool, signal: AbortSignal) {
    this.#lock = `instance ${instance}`
    this.#pool = pool
    this.#signal = signal
  }

  /** False if another process holds the identity. */
  async take(): Promise<boolean> {
    const untilMs = performance.now() + mostWaitMs
    while (!(await this.#tryLock())) {
      if (this.#signal.aborted || performance.now() >= untilMs) return false
      await pause(againMs, this.#signal)
    }
    return true
  }

  async close(): Promise<void> {
    await this.#locks?.close()
  }

  #tryLock(): Promise<boolean> {
    return this.#turns.run(async () => {
      this.#locks ??= await AdvisoryLocks.open(this.#pool, () => void this.#takeAgain())
      if (!this.#signal.aborted) return this.#locks.tryAcquire(this.#lock)
      // The workers closed meanwhile. A connection that stays open would hold up the end of the pool.
      await this.close()
      return false
    })
  }

  async #takeAgain(): Promise<void> {
    this.#locks = undefined
    while (!this.#signal.aborted && !(await this.#tryLock().catch(() => false))) await pause(againMs, this.#signal)
  }
}

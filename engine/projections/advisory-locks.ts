import type { Pool, PoolClient } from 'pg'
import { within } from '../../platform/kit/time-limits.ts'

/** Separates our advisory locks from others in the same database. */
const lockClass = 7_305
/** Time limit for closing, in milliseconds. */
const goodbyeMs = 1_000

/**
 * Advisory locks by name on one separate connection. They last as long as it does. When the connection is lost, all
 * locks are lost, and `onLost` is called once.
 */
export class AdvisoryLocks {
  readonly client: PoolClient
  readonly #held = new Set<string>()
  readonly #onLost: () => void
  #isLost = false

  private constructor(client: PoolClient, onLost: () => void) {
    this.client = client
    this.#onLost = onLost
    client.on('error', () => this.#lose())
    client.on('end', () => this.#lose())
  }

  static async open(pool: Pool, onLost: () => void): Promise<AdvisoryLocks> {
    return new AdvisoryLocks(await pool.connect(), onLost)
  }

  get isLost(): boolean {
    return this.#isLost
  }

  holds(name: string): boolean {
    return !this.#isLost && this.#held.has(name)
  }

  /** Takes the lock unless another connection holds it. */
  async tryAcquire(name: string): Promise<boolean> {
    if (this.holds(name)) return true
    const answer = await this.#query<{ taken: boolean }>('select pg_try_advisory_lock($1, hashtext($2)) as taken', name)
    const isTaken = answer?.taken === true
    if (isTaken) this.#held.add(name)
    return isTaken
  }

  async release(name: string): Promise<void> {
    if (!this.#held.delete(name)) return
    await this.#query('select pg_advisory_unlock($1, hashtext($2))', name)
  }

  /** Releases every lock and the connection. Others can take the locks once it resolves. */
  async close(): Promise<void> {
    if (this.#isLost) return
    this.#isLost = true
    // If a connection is only closed, the server releases its locks later, when it notices.
    await within(
      goodbyeMs,
      this.client.query('select pg_advisory_unlock_all()').catch(() => undefined),
    )
    this.client.release(true)
  }

  /** Abandons a connection that no longer answers. Its locks end when the server notices. */
  drop(): void {
    if (this.#isLost) return
    this.#isLost = true
    this.client.release(true)
  }

  async #query<Answer extends object>(text: string, name: string): Promise<Answer | undefined> {
    const { rows } = await this.client.query<Answer>(text, [lockClass, name])
    return rows[0]
  }

  #lose(): void {
    if (this.#isLost) return
    this.drop()
    this.#onLost()
  }
}

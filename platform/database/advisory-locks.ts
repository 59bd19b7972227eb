import type { Pool, PoolClient, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { within } from '../kit/time-limits.ts'
import { createTurns } from '../kit/turns.ts'

/** Separates our advisory locks from others in the same database. */
const lockClass = 7_305
/** Time limit for closing, in milliseconds. */
const goodbyeMs = 1_000

/**
 * Advisory locks by name on one separate connection. They last as long as it does. When the connection is lost, all
 * locks are lost, and `onLost` is called once.
 */
export class AdvisoryLocks {
  readonly #client: PoolClient
  readonly #turns = createTurns(1)
  readonly #held = new Set<string>()
  readonly #onLost: () => void
  #isLost = false

  private constructor(client: PoolClient, onLost: () => void) {
    this.#client = client
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
    const text = 'select pg_try_advisory_lock($1, hashtext($2)) as taken'
    const { rows } = await this.query<{ taken: boolean }>({ text, values: [lockClass, name] })
    const isTaken = rows[0]?.taken === true
    if (isTaken) this.#held.add(name)
    return isTaken
  }

  async release(name: string): Promise<void> {
    if (!this.#held.delete(name)) return
    await this.query({ text: 'select pg_advisory_unlock($1, hashtext($2))', values: [lockClass, name] })
  }

  /** Releases every lock and the connection. Others can take the locks once it resolves. */
  async close(): Promise<void> {
    if (this.#isLost) return
    this.#isLost = true
    // If a connection is only closed, the server releases its locks later, when it notices.
    await within(
      goodbyeMs,
      this.query({ text: 'select pg_advisory_unlock_all()' }).catch(() => undefined),
    )
    this.#client.release(true)
  }

  /** Abandons a connection that no longer answers. Its locks end when the server notices. */
  drop(): void {
    if (this.#isLost) return
    this.#isLost = true
    this.#client.release(true)
  }

  /** Runs a statement on the connection of the locks. Statements of several callers run one after another. */
  query<Row extends QueryResultRow>(statement: QueryConfig): Promise<QueryResult<Row>> {
    return this.#turns.run(() => this.#client.query<Row>(statement))
  }

  #lose(): void {
    if (this.#isLost) return
    this.drop()
    this.#onLost()
  }
}

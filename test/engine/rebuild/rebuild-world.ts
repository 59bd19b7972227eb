import { afterAll, afterEach, beforeAll } from 'vitest'
import type { Pool } from '../../../platform/database/database.ts'
import type { RebuildContext } from '../../../engine/rebuild/context.ts'
import { readCheckpoints, type StoredCheckpoint } from '../../../engine/projections/checkpoints.ts'
import type { Projector, Row } from '../../../engine/projections/projector.ts'
import type { ProjectionRunnerOptions } from '../../../engine/projections/runner-options.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { readRows } from '../../support/given-projector.ts'
import { openTicketWorld, type TicketWorld } from '../projections/ticket-world.ts'
import { emptyDatabase, filter, silentLogger } from '../projections/tickets.ts'
import { eventually } from '../../support/eventually.ts'

/** A node, a database and the runners of one test file. Every test starts with an empty database and a growing log. */
export class RebuildWorld {
  readonly #runners: ProjectionRunner[] = []
  #world: TicketWorld | undefined
  #tickets = 0

  /** Registers set-up and clean-up with the test file. */
  static ofThisFile(): RebuildWorld {
    const world = new RebuildWorld()
    beforeAll(async () => {
      world.#world = await openTicketWorld({ connections: 16 })
    })
    afterAll(() => world.#opened.close())
    afterEach(async () => {
      await Promise.all(world.#runners.splice(0).map((runner) => runner.close()))
      await emptyDatabase(world.pool)
    })
    return world
  }

  get #opened(): TicketWorld {
    if (this.#world === undefined) throw new TypeError('the world is not open yet')
    return this.#world
  }

  get store(): EventStore {
    return this.#opened.store
  }

  get pool(): Pool {
    return this.#opened.pool
  }

  get databaseUrl(): string {
    return this.#opened.database.url
  }

  /** A ticket for one test. */
  fresh(): string {
    this.#tickets += 1
    return `r${this.#tickets}`
  }

  context(given: Partial<RebuildContext> = {}): RebuildContext {
    return { eventStore: this.store, pool: this.pool, filter, logger: silentLogger, ...given }
  }

  start(projectors: readonly Projector[], options: Partial<ProjectionRunnerOptions> = {}): ProjectionRunner {
    const runner = new ProjectionRunner({
      eventStore: this.store,
      pool: this.pool,
      projectors,
      filter,
      logger: silentLogger,
      heartbeatMs: 50,
      ...options,
    })
    this.#runners.push(runner)
    runner.start()
    return runner
  }

  /** Runs projectors until they have caught up, then stops. */
  async filled(projectors: readonly Projector[]): Promise<void> {
    const runner = this.start(projectors)
    await runner.caughtUp()
    await eventually(async () => {
      for (const { name } of projectors) {
        const status = (await this.stored(name))?.status
        if (status === 'rebuilding') throw new Error(`${name} is not filled yet`)
      }
    })
    await runner.close()
  }

  async stored(name: string): Promise<StoredCheckpoint | undefined> {
    return (await readCheckpoints(this.pool, [name])).get(name)
  }

  /** The titles of the tickets in a projector's table. */
  async titles(projector: Projector): Promise<Record<string, unknown>> {
    const { tickets: rows = [] } = await readRows(this.pool, projector)
    return Object.fromEntries(rows.map((row: Row) => [String(row['ticket_id']), row['title']]))
  }

  /** The existing schemas and rows of a read model's copies. */
  async copies(name: string): Promise<string[]> {
    const { rows } = await this.pool.query<{ name: string }>(
      `select nspname as name from pg_namespace where nspname like $1 union select name from runtime.projectors where name like $1 order by 1`,
      [`${name.replaceAll('_', '\\_')}\\_\\_%`],
    )
    return rows.map((row) => row.name)
  }
}

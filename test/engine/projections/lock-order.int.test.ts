import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { partOf, writeBatch } from '../../../engine/projections/batch-writer.ts'
import { beat, markCaughtUp, readCheckpoints } from '../../../engine/projections/checkpoints.ts'
import { ensureRuntimeSchema, prepareProjector } from '../../../engine/projections/schema.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { ticketBoard } from './tickets.ts'
import { eventually } from '../../support/eventually.ts'

/* The later name comes first in the table: a statement without an order locks it first. */
const later = { ...ticketBoard, name: 'zebra' }
const earlier = { ...ticketBoard, name: 'adder' }
const start = { commit: 0n, prepare: 0n }
const end = { commit: 1n, prepare: 1n }

let database: FreshDatabase
let pool: Pool

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 4 })
  await ensureRuntimeSchema(pool)
  for (const projector of [later, earlier]) await inTransaction(pool, (client) => prepareProjector(client, projector))
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const changes: Record<string, () => Promise<unknown>> = {
  'a heartbeat': () => inTransaction(pool, (client) => beat(client, [{ projector: later }, { projector: earlier }])),
  'a batch': () =>
    writeBatch(
      pool,
      [later, earlier].map((projector) => partOf(projector, [], start, end)),
    ),
  'the end of a rebuild': async () => {
    const known = await readCheckpoints(pool, [later.name, earlier.name])
    return markCaughtUp(
      pool,
      [...known.values()].map(({ name, copyId, position }) => ({ name, copyId, position })),
    )
  },
}

describe('a change that waits for a projector', () => {
  it.each(Object.entries(changes))('holds no lock of a later name: %s', async (_name, change) => {
    const holder = await pool.connect()
    try {
      await holder.query('begin')
      await holder.query('select from runtime.projectors where name = $1 for no key update', [earlier.name])
      const changing = change()
      await eventually(async () => {
        const { rows } = await pool.query(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
        expect(rows).toHaveLength(1)
      })

      const { rowCount } = await holder.query(
        'select from runtime.projectors where name = $1 for no key update nowait',
        [later.name],
      )

      expect(rowCount).toBe(1)
      await holder.query('commit')
      await changing
    } finally {
      await holder.query('rollback')
      holder.release()
    }
  })
})

import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { CheckpointLostError, partOf, writeBatch } from '../../../engine/projections/batch-writer.ts'
import { ensureRuntimeSchema, prepareProjector } from '../../../engine/projections/schema.ts'
import { recorded } from '../../support/given-projector.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { opened, ticketCounts } from './tickets.ts'

let database: FreshDatabase
let pool: Pool

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 2 })
  await ensureRuntimeSchema(pool)
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

it('compares both numbers of a position: events of one append share the first', async () => {
  const { position } = await inTransaction(pool, (client) => prepareProjector(client, ticketCounts))
  const events = recorded([opened('t1')])
  const first = { commit: 100n, prepare: 80n }
  const second = { commit: 100n, prepare: 90n }
  await writeBatch(pool, [partOf(ticketCounts, events, position, second)])
  await expect(writeBatch(pool, [partOf(ticketCounts, [], first, { commit: 200n, prepare: 200n })])).rejects.toThrow(
    CheckpointLostError,
  )
  await writeBatch(pool, [partOf(ticketCounts, [], second, { commit: 200n, prepare: 200n })])
  const { rows } = await pool.query('select commit_position::text as at from runtime.projectors')
  expect(rows).toEqual([{ at: '200' }])
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { partOf, writeBatch } from '../../../engine/projections/batch-writer.ts'
import type { Projector } from '../../../engine/projections/projector.ts'
import { createProjector, ensureRuntimeSchema, prepareProjector } from '../../../engine/projections/schema.ts'
import { recorded } from '../../support/given-projector.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { opened, ticketBoard, type TicketEvent } from './tickets.ts'

let database: FreshDatabase
let pool: Pool
let other: Pool
const reached = new Map<string, bigint>()

beforeAll(async () => {
  database = await freshDatabase()
  // One connection, which keeps its prepared statements.
  pool = createPool({ url: database.url, max: 1 })
  other = createPool({ url: database.url, max: 2 })
  await ensureRuntimeSchema(pool)
  await inTransaction(pool, (client) => prepareProjector(client, ticketBoard))
})
afterAll(async () => {
  await Promise.all([pool.end(), other.end()])
  await database.drop()
})

/** Writes the events as one batch after the earlier ones. */
async function write(projector: Projector, ...events: readonly TicketEvent[]): Promise<void> {
  const at = reached.get(projector.name) ?? 0n
  await writeBatch(pool, [
    partOf(projector, recorded(events), { commit: at, prepare: at }, { commit: at + 1n, prepare: at + 1n }),
  ])
  reached.set(projector.name, at + 1n)
}

describe('a prepared write', () => {
  it('goes to the copy that replaces the one it was prepared on, also while it waits, and back', async () => {
    const ticketsIn = async (schema: string) => {
      const { rows } = await other.query<{ ticket_id: string }>(
        `select ticket_id from ${schema}.tickets where ticket_id like 't%' order by ticket_id`,
      )
      return rows.map(({ ticket_id: id }) => id)
    }
    await write(ticketBoard, opened('t1'))
    await write(ticketBoard, opened('t2'))
    await inTransaction(other, (client) => createProjector(client, { ...ticketBoard, name: 'ticket_board__next' }))

    const switching = await other.connect()
    await switching.query(`begin; select from runtime.projectors where name = 'ticket_board' for update`)
    const writing = write(ticketBoard, opened('t3'))
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%shape_id%'`
    await expect.poll(async () => (await other.query(waiting)).rows.length).toBe(1)
    await switching.query(
      'alter schema ticket_board rename to ticket_board__previous; alter schema ticket_board__next rename to ticket_board; commit',
    )
    await writing
    await write(ticketBoard, opened('t4'))
    expect(await ticketsIn('ticket_board')).toEqual(['t3', 't4'])
    expect(await ticketsIn('ticket_board__previous')).toEqual(['t1', 't2'])

    await switching.query(
      'begin; alter schema ticket_board rename to ticket_board__next; alter schema ticket_board__previous rename to ticket_board; commit',
    )
    switching.release()
    await write(ticketBoard, opened('t5'))
    expect(await ticketsIn('ticket_board')).toEqual(['t1', 't2', 't5'])
  })
})

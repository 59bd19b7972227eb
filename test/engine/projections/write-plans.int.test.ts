import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { partOf, writeBatch, createWritePool } from '../../../engine/projections/batch-writer.ts'
import { ensureRuntimeSchema, prepareProjector } from '../../../engine/projections/schema.ts'
import { recorded } from '../../support/given-projector.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { opened, renamed, ticketBoard, type TicketEvent } from './tickets.ts'

const grown = 5_000

let database: FreshDatabase
/** One connection with countable reads, which keeps its prepared statements. */
let pool: Pool
const copies = new Map<string, string>()
let at = 0n

beforeAll(async () => {
  database = await freshDatabase()
  pool = createWritePool({ url: database.url, max: 1 })
  await ensureRuntimeSchema(pool)
  await inTransaction(pool, (client) => prepareProjector(client, ticketBoard))
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** Writes one event as its own batch. */
async function write(event: TicketEvent): Promise<void> {
  const [from, to] = [
    { commit: at, prepare: at },
    { commit: at + 1n, prepare: at + 1n },
  ]
  await writeBatch(pool, [partOf(ticketBoard, recorded([event]), from, to)], { copies })
  at += 1n
}

/** Rows and index entries of all tables of the projector that were read meanwhile. */
async function readsOf(work: () => Promise<void>): Promise<number> {
  const count = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    await pool.query('select 1')
    const {
      rows: [row],
    } = await pool.query<{ reads: number }>(
      `select (sum(t.seq_tup_read) + (select sum(idx_tup_read) from pg_stat_user_indexes where schemaname = 'ticket_board'))::float8 as reads
       from pg_stat_user_tables t where t.schemaname = 'ticket_board'`,
    )
    return row?.reads ?? Number.NaN
  }
  const before = await count()
  await work()
  return (await count()) - before
}

const kinds: Readonly<Record<string, (ticket: string) => TicketEvent>> = {
  'an existing row': (ticket) => renamed(ticket, 'new'),
  'a removed row': (ticketId) => ({ type: 'TicketClosed', data: { ticketId } }),
  'rows from a lookup table': (ticket) => opened(`${ticket}-new`, 'title', 'lonely'),
  'a row that may exist': (watcher) => ({ type: 'TeamWatched', data: { team: 'red', watcher } }),
  'rows by their key': (watcher) => ({ type: 'TeamUnwatched', data: { team: 'red', watcher } }),
  'rows by one of their indexes': (ticket) => ({
    type: 'TeamRenamed',
    data: { team: `team of ${ticket}`, to: 'blue' },
  }),
}

it('plans for empty tables scan no table once it has grown', async () => {
  for (let round = 0; round < 8; round += 1) {
    await write(opened(`early-${round}`))
    for (const event of Object.values(kinds)) await write(event(`early-${round}`)).catch(() => undefined)
  }
  await pool.query(
    `insert into ticket_board.tickets select 'late-' || n, 'title', 'team of late-' || n, now(), 0, null from generate_series(1, ${grown}) n`,
  )
  await pool.query(
    `insert into ticket_board.watchers select 'team ' || n, 'watcher', '["all"]' from generate_series(1, ${grown}) n`,
  )
  const reads: Record<string, boolean> = {}
  for (const [number, [kind, event]] of Object.entries(kinds).entries())
    reads[kind] = (await readsOf(() => write(event(`late-${number + 1}`)))) < 100
  expect(reads).toEqual(Object.fromEntries(Object.keys(kinds).map((kind) => [kind, true])))
})

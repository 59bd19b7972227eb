import { randomUUID } from 'node:crypto'
import { array, assert, asyncProperty, constantFrom, oneof, record, type Arbitrary } from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { CheckpointLostError, partOf, writeBatch, createWritePool } from '../../../engine/projections/batch-writer.ts'
import type { Write } from '../../../engine/projections/checkpoint-moves.ts'
import { beat } from '../../../engine/projections/checkpoints.ts'
import { reasonOf } from '../../../engine/projections/database-errors.ts'
import type { Projector } from '../../../engine/projections/projector.ts'
import { createProjector, ensureRuntimeSchema, prepareProjector } from '../../../engine/projections/schema.ts'
import { RetryingWriter } from '../../../engine/projections/retrying-writer.ts'
import { readRows, recorded } from '../../support/given-projector.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import {
  closed,
  emptyDatabase,
  opened,
  renamed,
  silentLogger,
  ticketBoard,
  ticketCounts,
  type TicketEvent,
} from './tickets.ts'
import { eventually } from '../../support/eventually.ts'

const watched = (team: string, watcher: string): TicketEvent => ({ type: 'TeamWatched', data: { team, watcher } })
const unwatched = (team: string, watcher: string): TicketEvent => ({ type: 'TeamUnwatched', data: { team, watcher } })
const teamRenamed = (team: string, to: string): TicketEvent => ({ type: 'TeamRenamed', data: { team, to } })
const place = (at: bigint) => ({ commit: at, prepare: at })
/** Only waits for the checkpoints. */
const isWaiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%shape_id%'`

let database: FreshDatabase
let pool: Pool
let other: Pool
/** The writer's memory: the copies of its last writes, and its position per projector. */
const copies = new Map<string, string>()
const reached = new Map<string, bigint>()

beforeAll(async () => {
  database = await freshDatabase()
  pool = createWritePool({ url: database.url })
  other = createPool({ url: database.url, max: 3 })
})
afterAll(async () => {
  await Promise.all([pool.end(), other.end()])
  await database.drop()
})
beforeEach(async () => {
  copies.clear()
  reached.clear()
  await ensureRuntimeSchema(other)
  for (const projector of [ticketBoard, ticketCounts])
    await inTransaction(other, (client) => prepareProjector(client, projector))
})
afterEach(() => emptyDatabase(other))

/** Events that no other batch of the file contains. */
const batchOf = (events: readonly TicketEvent[]) => recorded(events.map((event) => ({ ...event, id: randomUUID() })))

/** The tables of these writes. */
const tablesOf = (touched: ReadonlySet<Write>) => [...new Set([...touched].map(({ table }) => table))].toSorted()

/** Writes the events as one batch after the earlier ones. `isJoinable: false` writes without known copies. Returns the written tables. */
async function write(
  projectors: readonly Projector[],
  events: readonly TicketEvent[],
  { isJoinable = true } = {},
): Promise<string[]> {
  const batch = batchOf(events)
  const parts = projectors.map((projector) => {
    const at = reached.get(projector.name) ?? 0n
    return partOf(projector, batch, place(at), place(at + 1n))
  })
  const touched = await writeBatch(pool, parts, isJoinable ? { copies } : {})
  for (const { projector, to } of parts) reached.set(projector.name, to.commit)
  return tablesOf(touched)
}

/** The stored position of each projector. */
async function stored(): Promise<Record<string, number>> {
  const { rows } = await other.query<{ name: string; place: number }>(
    'select name, commit_position::int as place from runtime.projectors',
  )
  return Object.fromEntries(rows.map((row) => [row.name, row.place]))
}

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

async function ticketsIn(schema: string): Promise<string[]> {
  const { rows } = await other.query<{ ticket_id: string }>(
    `select ticket_id from ${schema}.tickets order by ticket_id`,
  )
  return rows.map(({ ticket_id: id }) => id)
}

describe('a small batch', () => {
  it('writes the rows and positions of all projectors together', async () => {
    await write([ticketBoard, ticketCounts], [opened('1'), watched('blue', 'ann')])
    const tables = await write([ticketBoard, ticketCounts], [opened('2', 'b', 'blue'), renamed('2', 'c')])
    expect(tables).toEqual(['counts', 'news', 'tickets'])
    expect((await readRows(other, ticketBoard))['tickets']).toMatchObject([
      { ticket_id: '1' },
      { ticket_id: '2', title: 'c' },
    ])
    expect((await readRows(other, ticketBoard))['news']).toMatchObject([{ watcher: 'ann', detail: { ticket: '2' } }])
    expect((await readRows(other, ticketCounts))['counts']).toHaveLength(3)
    expect(await stored()).toEqual({ ticket_board: 2, ticket_counts: 2 })
  })

  it('is one statement although it removes rows of a table that it adds rows to', async () => {
    await write([ticketBoard], [opened('1')])
    await write([ticketBoard], [opened('2')])
    const connect = vi.spyOn(pool, 'connect')
    // A query of the pool connects with a callback. A transaction takes a connection for itself.
    const transactions = () => connect.mock.calls.filter((asked: readonly unknown[]) => asked.length === 0).length
    await write([ticketBoard], [closed('1'), opened('3')])
    await write([ticketBoard], [opened('4'), closed('4'), renamed('2', 'x')])
    await write([ticketBoard], [watched('red', 'ann'), unwatched('blue', 'ann')])
    expect(transactions()).toBe(0)
    // The removal by team would not find the row that is added with it.
    await write([ticketBoard], [opened('5'), watched('red', 'bob'), opened('6')])
    expect(transactions()).toBe(1)
    connect.mockRestore()
    expect(await ticketsIn('ticket_board')).toEqual(['2', '3', '5', '6'])
  })

  it('reports only tables with a written row', async () => {
    await write([ticketBoard, ticketCounts], [opened('1')])
    // Nobody watches, there is nothing to remove, and the other projector does not listen to it.
    expect(await write([ticketBoard, ticketCounts], [closed('1')])).toEqual(['tickets'])
    expect(await write([ticketBoard, ticketCounts], [closed('1')])).toEqual([])
    expect(await write([ticketBoard, ticketCounts], [teamRenamed('none', 'red')])).toEqual([])
    expect(await write([ticketCounts], [])).toEqual([])
    expect(await stored()).toEqual({ ticket_board: 4, ticket_counts: 5 })
  })

  it('is written although heartbeats changed its projectors while it waited', async () => {
    await write([ticketBoard], [opened('1')])
    const beating = await other.connect()
    await beating.query('begin')
    await beat(beating, [{ projector: ticketBoard }])
    const writing = write([ticketBoard], [opened('2')])
    await expect.poll(async () => (await other.query(isWaiting)).rows.length).toBe(1)
    await beating.query('commit')
    await writing
    beating.release()
    expect(await ticketsIn('ticket_board')).toEqual(['1', '2'])
  })
})

describe('small batches that always differ', () => {
  it('do not fill the session of Postgres with prepared statements', async () => {
    const counters = Array.from({ length: 7 }, (_, index) => ({ ...ticketCounts, name: `counts_${index}` }))
    for (const counter of counters) await inTransaction(other, (client) => prepareProjector(client, counter))
    await write(counters, [])
    const sets = Array.from({ length: 127 }, (_, index) =>
      counters.filter((_counter, bit) => ((index + 1) & (1 << bit)) !== 0),
    )
    for (const set of sets) await write(set, [opened('1')])
    const { rows } = await pool.query("select from pg_prepared_statements where statement like '%counts_%'")
    expect(rows.length).toBeLessThan(sets.length)
    expect((await readRows(other, counters[0] ?? ticketCounts))['counts']).toHaveLength(64)
  })
})

describe('a refused small batch', () => {
  it.each<[string, readonly TicketEvent[], string]>([
    ['an insert of an existing row', [opened('1')], 'Postgres 23505 tickets tickets_pkey'],
    ['a patch of a missing row', [renamed('nobody', 'x'), watched('red', 'ann')], 'patch of a missing row of tickets'],
    [
      'an insert of an existing row, and its removal',
      [opened('1'), closed('1')],
      'insert of an existing row of tickets',
    ],
  ])('%s: nothing is written, and the error equals the one of several statements', async (_name, events, reason) => {
    await write([ticketBoard, ticketCounts], [opened('1'), opened('2')])
    const before = [await readRows(other, ticketBoard), await readRows(other, ticketCounts), await stored()]
    const reasons: string[] = []
    for (const isJoinable of [true, false])
      reasons.push(reasonOf(await errorOf(write([ticketCounts, ticketBoard], events, { isJoinable }))))
    expect(reasons).toEqual([reason, reason])
    expect([await readRows(other, ticketBoard), await readRows(other, ticketCounts), await stored()]).toEqual(before)
  })

  it('a checkpoint that another instance has moved, next to one that it has not', async () => {
    await write([ticketBoard, ticketCounts], [opened('1')])
    await other.query(`update runtime.projectors set prepare_position = 7 where name = 'ticket_counts'`)
    // Also if no row count would show it.
    for (const events of [[opened('2')], [watched('red', 'ann')], []]) {
      const error = await errorOf(write([ticketBoard, ticketCounts], events))
      expect(error).toEqual(new CheckpointLostError(['ticket_counts']))
      expect((error as CheckpointLostError).projectors).toEqual(['ticket_counts'])
    }
    expect((await readRows(other, ticketBoard))['watchers']).toEqual([])
    expect(await ticketsIn('ticket_board')).toEqual(['1'])
    expect((await readRows(other, ticketCounts))['counts']).toHaveLength(1)
    expect(await stored()).toEqual({ ticket_board: 1, ticket_counts: 1 })
  })

  it('under an older version, or with other tables', async () => {
    await write([ticketBoard], [opened('1')])
    const [tickets, ...rest] = ticketBoard.tables
    if (tickets === undefined) throw new TypeError('no table')
    for (const foreign of [
      { ...ticketBoard, version: 0 },
      { ...ticketBoard, tables: [{ ...tickets, indexes: [] }, ...rest] },
    ]) {
      expect(await errorOf(write([foreign], [opened('2')]))).toEqual(new CheckpointLostError(['ticket_board']))
    }
    expect(await ticketsIn('ticket_board')).toEqual(['1'])
  })

  it('its answer, if it is lost: the writer recognises its own commit', async () => {
    const impatient = createPool({ url: database.url, max: 2, statementTimeoutMs: 150 })
    const writes = { written: vi.fn(), lost: vi.fn(), failed: vi.fn(), databaseGone: vi.fn() }
    const warn = vi.fn()
    const writer = new RetryingWriter(impatient, { ...silentLogger, warn }, writes, new AbortController().signal)
    const member = { projector: ticketCounts, position: place(0n), isActive: true, copyId: '' }
    const batch = (from: bigint, ticket: string) => {
      const events = batchOf([opened(ticket)])
      return { member, events, part: partOf(ticketCounts, events, place(from), place(from + 1n)) }
    }
    await writer.write([batch(0n, '1')])
    const holder = await other.connect()
    await holder.query(
      `begin; update runtime.projectors set commit_position = 2, prepare_position = 2 where name = 'ticket_counts'`,
    )
    const writing = writer.write([batch(1n, '2')])
    await eventually(() => expect(warn).toHaveBeenCalled())
    await holder.query('commit')
    holder.release()
    await writing
    await impatient.end()
    expect(writes.written).toHaveBeenLastCalledWith([
      { member, part: expect.objectContaining({ to: place(2n), writes: [expect.anything()] }) },
    ])
    expect(writes.lost).not.toHaveBeenCalled()
  })
})

describe('a small batch that waits while another copy takes its place', () => {
  it('goes to that copy, and so does the next one', async () => {
    await write([ticketBoard], [opened('1')])
    await write([ticketBoard], [opened('2')])
    await inTransaction(other, (client) => createProjector(client, { ...ticketBoard, name: 'ticket_board__next' }))
    const switching = await other.connect()
    await switching.query(`begin; select from runtime.projectors where name = 'ticket_board' for update`)
    const writing = write([ticketBoard], [opened('3')])
    await expect.poll(async () => (await other.query(isWaiting)).rows.length).toBe(1)
    await switching.query(`alter schema ticket_board rename to ticket_board__previous; alter schema ticket_board__next rename to ticket_board;
      update runtime.projectors s set copy_id = n.copy_id from runtime.projectors n where s.name = 'ticket_board' and n.name = 'ticket_board__next'; commit`)
    switching.release()
    expect(await writing).toEqual(['tickets'])
    expect(await ticketsIn('ticket_board')).toEqual(['3'])
    expect(await ticketsIn('ticket_board__previous')).toEqual(['1', '2'])

    await write([ticketBoard], [opened('4')])
    expect(await ticketsIn('ticket_board')).toEqual(['3', '4'])
  })
})

describe('a larger batch', () => {
  it.each<[string, readonly TicketEvent[]]>([
    ['writes a table twice', [opened('2'), renamed('1', 'x')]],
    ['reads what it has written', [watched('red', 'ann'), opened('2')]],
    ['has many rows', Array.from({ length: 201 }, (_, index) => opened(`many ${index}`))],
  ])('leaves the same rows as one that was never joined if it %s', async (_name, events) => {
    await write([ticketBoard], [opened('1')])
    await write([ticketBoard], events)
    const rows = await readRows(other, ticketBoard)
    await other.query('delete from runtime.projectors')
    reached.clear()
    await inTransaction(other, (client) => prepareProjector(client, ticketBoard))
    await write([ticketBoard], [opened('1')], { isJoinable: false })
    await write([ticketBoard], events, { isJoinable: false })
    // News are keyed by events, and the second time the events differ.
    const comparable = ({ news, ...tables }: typeof rows) => ({
      ...tables,
      news: news?.map(({ watcher, detail }) => ({ watcher, detail })),
    })
    expect(comparable(await readRows(other, ticketBoard))).toEqual(comparable(rows))
  })
})

const ticket = constantFrom('1', '2', '3')
const team = constantFrom('red', 'blue')
const watcher = constantFrom('ann', 'bob')
const event: Arbitrary<TicketEvent> = oneof(
  record({ ticket, team }).map((given) => opened(given.ticket, 'any', given.team)),
  record({ ticket, title: constantFrom('x', 'y') }).map((given) => renamed(given.ticket, given.title)),
  ticket.map(closed),
  record({ team, watcher }).map((given) => watched(given.team, given.watcher)),
  record({ team, watcher }).map((given) => unwatched(given.team, given.watcher)),
  record({ team, to: team }).map((given) => teamRenamed(given.team, given.to)),
)

describe('any batches', () => {
  const joined = { ...ticketBoard, name: 'joined' }
  const stepped = { ...ticketBoard, name: 'stepped' }

  it('give the same rows, the same reported tables and the same refusals, joined or in several statements', async () => {
    for (const projector of [joined, stepped])
      await inTransaction(other, (client) => prepareProjector(client, projector))
    const outcomeOf = async (projector: Projector, batch: ReturnType<typeof batchOf>) => {
      const at = reached.get(projector.name) ?? 0n
      const writing = async () =>
        writeBatch(pool, [partOf(projector, batch, place(at), place(at + 1n))], projector === joined ? { copies } : {})
      const outcome = await writing().then(tablesOf, (error: unknown) => reasonOf(error).replaceAll(projector.name, ''))
      if (Array.isArray(outcome)) reached.set(projector.name, at + 1n)
      return { outcome, rows: await readRows(other, projector) }
    }
    await assert(
      asyncProperty(
        array(array(event, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 8 }),
        async (batches) => {
          for (const name of ['joined', 'stepped'])
            await other.query(`delete from ${name}.tickets; delete from ${name}.watchers; delete from ${name}.news`)
          for (const events of batches) {
            const batch = batchOf(events)
            expect(await outcomeOf(joined, batch)).toEqual(await outcomeOf(stepped, batch))
          }
        },
      ),
      { numRuns: 40 },
    )
    expect(await stored()).toMatchObject({
      joined: Number(reached.get('joined')),
      stepped: Number(reached.get('stepped')),
    })
  })
})

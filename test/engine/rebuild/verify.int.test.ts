import { Pool } from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { pause } from '../../../platform/kit/backoff.ts'
import { defineProjector, defineTable, type Projector } from '../../../engine/projections/projector.ts'
import { insertRow } from '../../../engine/projections/row-changes.ts'
import { compareWithServing } from '../../../engine/rebuild/compare.ts'
import { verify } from '../../../engine/rebuild/rebuild.ts'
import { emptyCopy } from '../../../engine/rebuild/copies.ts'
import { Pages } from '../../../engine/rebuild/pages.ts'
import { drop } from '../../../engine/rebuild/rollback.ts'
import { opened, renamed, say, ticketBoard, ticketCounts, type TicketEvent } from '../projections/tickets.ts'
import { RebuildWorld } from './rebuild-world.ts'

const world = RebuildWorld.ofThisFile()

const entries = defineTable({
  name: 'entries',
  columns: { entry_id: 'uuid', ticket_id: 'text', title: { type: 'text', nullable: true }, weight: 'numeric' },
  primaryKey: ['entry_id'],
})
const links = defineTable({
  name: 'links',
  columns: { ticket_id: 'text', number: 'integer', detail: 'jsonb' },
  primaryKey: ['ticket_id', 'number'],
})

/** Rows with an id as key, and rows whose key is text and a number. */
const register = defineProjector<TicketEvent>()({
  name: 'register',
  version: 1,
  tables: [entries, links],
  handlers: {
    TicketOpened: ({ id, data }) => [
      insertRow(entries, { entryId: id, ticketId: data.ticketId, title: data.title, weight: '1.50' }),
      insertRow(links, { ticketId: data.ticketId, number: 1, detail: { title: data.title } }),
    ],
    TicketRenamed: ({ id, data }) => [insertRow(entries, { entryId: id, ticketId: data.ticketId, weight: 2 })],
  },
})

async function filledRegister(): Promise<readonly string[]> {
  const ticket = world.fresh()
  await say(world.store, `ticket-${ticket}`, opened(ticket, 'secret title'), renamed(ticket, 'x'), renamed(ticket, 'y'))
  await world.filled([register])
  const { rows } = await world.pool.query<{ entry_id: string }>(
    'select entry_id from register.entries order by entry_id',
  )
  return rows.map(({ entry_id }) => entry_id)
}

async function difference(projector: Projector = register): Promise<unknown> {
  const [outcome] = await verify(world.context(), [projector])
  expect(outcome).toMatchObject({ kind: 'differs', comparison: { isEqual: false } })
  return outcome?.kind === 'differs' ? outcome.comparison.difference : undefined
}

describe('a check of a read model', () => {
  it('reports equality, counts its rows and leaves nothing behind', async () => {
    const ids = await filledRegister()
    const before = await world.stored('register')
    const [outcome] = await verify(world.context(), [register])
    expect(outcome).toMatchObject({ kind: 'equal', comparison: { isEqual: true, position: before?.position } })
    const tables = outcome?.kind === 'equal' ? outcome.comparison.tables : []
    expect(tables).toMatchObject([{ table: 'entries', rows: ids.length, copyRows: ids.length }, { table: 'links' }])
    for (const { hash, copyHash } of tables) {
      expect(hash).toMatch(/^[0-9a-f]{64}$/)
      expect(copyHash).toBe(hash)
    }
    expect(await world.stored('register')).toMatchObject({ copyId: before?.copyId, position: before?.position })
    expect(await world.copies('register')).toEqual([])
  })

  it('reports the first damaged row by its key, and the columns, never a value', async () => {
    const [first] = await filledRegister()
    await world.pool.query(`update register.entries set title = 'damaged secret', weight = 9 where entry_id = $1`, [
      first,
    ])
    expect(await difference()).toEqual({
      kind: 'changed',
      table: 'entries',
      key: { entry_id: first },
      columns: ['title', 'weight'],
    })
  })

  it('distinguishes null from an empty text', async () => {
    await filledRegister()
    const { rows } = await world.pool.query<{ entry_id: string }>(
      `update register.entries set title = '' where title is null and entry_id = (select entry_id from register.entries where title is null order by entry_id limit 1) returning entry_id`,
    )
    expect(await difference()).toEqual({
      kind: 'changed',
      table: 'entries',
      key: { entry_id: rows[0]?.entry_id },
      columns: ['title'],
    })
  })

  it('finds a missing row: the first, one in the middle, the last', async () => {
    const ids = await filledRegister()
    for (const id of [ids[0], ids[Math.floor(ids.length / 2)], ids.at(-1)]) {
      const { rows } = await world.pool.query('delete from register.entries where entry_id = $1 returning *', [id])
      expect(await difference()).toEqual({ kind: 'missing', table: 'entries', key: { entry_id: id } })
      const [row] = rows
      await world.pool.query(
        'insert into register.entries (entry_id, ticket_id, title, weight) values ($1, $2, $3, $4)',
        [row.entry_id, row.ticket_id, row.title, row.weight],
      )
    }
    expect(await verify(world.context(), [register])).toMatchObject([{ kind: 'equal' }])
  })

  it('finds a row that is not in the log: the first and the last', async () => {
    await filledRegister()
    for (const id of ['00000000-0000-4000-8000-000000000000', 'ffffffff-ffff-4fff-bfff-ffffffffffff']) {
      await world.pool.query(`insert into register.entries values ($1, 'nobody', null, 1)`, [id])
      expect(await difference()).toEqual({ kind: 'surplus', table: 'entries', key: { entry_id: id } })
      await world.pool.query('delete from register.entries where entry_id = $1', [id])
    }
  })

  it('shows a key that is no id as a hash', async () => {
    await filledRegister()
    await world.pool.query(
      `update register.links set detail = '{}' where ticket_id = (select min(ticket_id) from register.links)`,
    )
    const found = await difference()
    expect(found).toMatchObject({
      kind: 'changed',
      table: 'links',
      columns: ['detail'],
      key: { number: '1', ticket_id: expect.stringMatching(/^#[0-9a-f]{12}$/) as unknown },
    })
  })

  it('finds differences beyond the first page of rows', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket), renamed(ticket, 'x'))
    await world.filled([register])
    await world.pool.query(`insert into register.links select 'a', n, '{}' from generate_series(1, 12000) n`)
    const [outcome] = await verify(world.context(), [register])
    expect(outcome).toMatchObject({
      kind: 'differs',
      comparison: { difference: { kind: 'surplus', table: 'links', key: { number: '1' } } },
    })
    const tables = outcome?.kind === 'differs' ? outcome.comparison.tables : []
    expect(tables[1]?.rows).toBe((tables[1]?.copyRows ?? 0) + 12_000)
  })

  it('holds the text of one row at a time, however long the rows of a page are together', async () => {
    await filledRegister()
    await world.pool.query(
      `insert into register.links select 'a', n, to_jsonb(repeat('x', 1000000)) from generate_series(1, 20) n`,
    )
    const client = await world.pool.connect()
    const asked = vi.spyOn(client, 'query')
    const pages = new Pages({ client, schema: 'register', tables: [links] }, links)
    await pages.next()
    expect(pages.rows).toBeGreaterThan(20)
    const [text, values] = asked.mock.calls[0] as unknown as [string, unknown[]]
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values)
    client.release()
    expect(rows[0]['QUERY PLAN'][0].Plan).toMatchObject({ 'Temp Written Blocks': 0 })
  })

  it('reports a missing table', async () => {
    await filledRegister()
    await world.pool.query('drop table register.links')
    expect(await difference()).toEqual({ kind: 'shape', table: 'links', columns: [] })
  })

  it('of another version is refused before anything is filled', async () => {
    await filledRegister()
    const begun = vi.fn()
    expect(await verify(world.context({ onProgress: begun }), [{ ...register, version: 2 }])).toMatchObject([
      { kind: 'refused', reason: 'other-version' },
    ])
    expect(begun).not.toHaveBeenCalled()
  })

  it('compares at one position while new events arrive', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const runner = world.start([ticketBoard, ticketCounts])
    await runner.caughtUp()
    const unloading = new AbortController()
    const load = (async () => {
      for (let index = 0; !unloading.signal.aborted; index += 1) {
        await say(world.store, `ticket-${ticket}`, renamed(ticket, `title ${index}`))
        await pause(5)
      }
    })()
    for (let round = 0; round < 5; round += 1) {
      expect(await verify(world.context(), [ticketBoard, ticketCounts])).toMatchObject([
        { kind: 'equal' },
        { kind: 'equal' },
      ])
      await pause(10)
    }
    unloading.abort()
    await load
    expect(runner.status().map(({ state }) => state)).toEqual(['live', 'live'])
  })

  it('keeps no connection if it cannot have both', async () => {
    await filledRegister()
    const copy = await emptyCopy(world.context(), register, 'register__check')
    const pool = new Pool({ connectionString: world.databaseUrl, max: 1, connectionTimeoutMillis: 500 })
    await expect(compareWithServing(world.context({ pool }), copy)).rejects.toThrow('timeout exceeded')
    expect([pool.totalCount, pool.waitingCount]).toEqual([pool.idleCount, 0])
    await pool.end()
  })

  it('that was killed leaves a copy that drop removes', async () => {
    await filledRegister()
    await world.pool.query('create schema register__check; create schema register__dropped')
    expect(await drop(world.pool, 'register')).toEqual(['register__check', 'register__dropped'])
    expect(await world.copies('register')).toEqual([])
  })
})

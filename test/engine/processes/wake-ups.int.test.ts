import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { insertSelect } from '../../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow, removeRows, upsertRow } from '../../../engine/projections/row-changes.ts'
import type { Advance } from '../../../engine/projections/runner-options.ts'
import { partOf } from '../../../engine/projections/batch-writer.ts'
import { todoTable } from '../../../engine/processes/todo-tables.ts'
import {
  Listeners,
  listenForLists,
  makesWork,
  newsOf,
  notifyWorkers,
  rowsIn,
} from '../../../engine/processes/wake-ups.ts'
import type { Expression, RowChange } from '../../../engine/projections/projector.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { silentLogger } from '../projections/tickets.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { silentWay } from '../../support/silent-way.ts'
import { eventually } from '../../support/eventually.ts'

const [start, end] = [
  { commit: 0n, prepare: 0n },
  { commit: 1n, prepare: 1n },
]
const key = { key: 'k', step: 's' }
const row = { ...key, orgId: 'o', dueAt: '2026-03-01T10:00:00.000Z', payload: {} }
const dueMs = Date.parse(row.dueAt)

/** A table of the list beside its rows. */
const lookupTable = { ...todoTable, name: 'lookup' }

/** A batch of one event that makes these changes to a list. */
function advanceOf(changes: readonly RowChange[]): Advance {
  const tables = [todoTable, lookupTable]
  const projector = { name: 'reminders_todo', version: 1, tables, handlers: { Said: () => changes } }
  const event = {
    id: 'e',
    stream: 'ticket-1',
    revision: 0n,
    position: end,
    recordedAt: row.dueAt,
    type: 'Said',
    data: {},
    metadata: { commandId: 'c', $correlationId: 'c', schemaVersion: 1, signature: '' },
  }
  return { projectors: ['reminders_todo'], position: end, parts: [partOf(projector, [event], start, end)] }
}
const newsIn = (...changes: readonly RowChange[]) => newsOf(advanceOf(changes)).get('reminders_todo')
const rowNews = (dueMs: number) => ({ ...key, dueMs, position: end })

describe('the news of a batch', () => {
  it('tell when rows are due, also those that it moves', () => {
    for (const change of [insertRow, upsertRow]) expect(newsIn(change(todoTable, row))).toEqual([rowNews(dueMs)])
    expect(newsIn(patchRow(todoTable, { ...key, dueAt: row.dueAt }))).toEqual([rowNews(dueMs)])
  })

  it('tell of removed rows, which make no work', () => {
    const news = newsIn(
      removeRow(todoTable, key),
      removeRows(todoTable, { key: 'other' }),
      removeRows(todoTable, { orgId: 'o' }),
    )
    expect(news).toEqual([rowNews(Infinity), { ...rowNews(Infinity), key: 'other', step: undefined }])
    expect(makesWork(news ?? 'unknown')).toBe(false)
  })

  it('are none if nothing about the time of rows changes', () => {
    expect(newsIn(patchRow(todoTable, { ...key, payload: { more: true } }))).toEqual([])
    expect(newsOf(advanceOf([insertRow(lookupTable, row)])).size).toBe(0)
  })

  it('tell when rows from another table are due, if that is known', () => {
    const columns = { key: { column: 'key' }, step: { value: 's' }, payload: { column: 'payload' } }
    const from = (due_at: Expression) =>
      newsIn(insertSelect(todoTable, { from: todoTable, where: { key: 'k' }, columns: { ...columns, due_at } }))
    expect(from({ value: row.dueAt })).toEqual([{ ...rowNews(dueMs), key: undefined, step: undefined }])
    expect(from({ column: 'due_at' })).toBe('unknown')
    expect(newsOf({ ...advanceOf([]), parts: undefined }).get('reminders_todo')).toBe('unknown')
  })

  it('contain each new row as it will be read', () => {
    const [part] = advanceOf([insertRow(todoTable, { ...row, payload: { at: 1, none: undefined } })]).parts ?? []
    const read = { ...key, orgId: 'o', dueAt: new Date(dueMs), payload: { at: 1 } }
    expect(part === undefined ? undefined : rowsIn(part)).toStrictEqual([read])
  })
})

describe('an instance that listens for new work', () => {
  let database: FreshDatabase
  let pool: Pool
  let other: Client
  let heard: string[]
  let stop: () => Promise<void>
  let listeners: Listeners

  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database.drop())
  beforeEach(async () => {
    pool = createPool({ url: database.url, name: 'test', logger: silentLogger })
    other = new Client({ connectionString: database.url })
    await other.connect()
    heard = []
    other.on('notification', ({ payload = '' }) => heard.push(payload.split(' ').slice(1).join(' ')))
    await other.query('listen todo_lists')
    listeners = new Listeners()
    const said = vi.spyOn(listeners, 'saidHello')
    const closing = new AbortController()
    const listening = listenForLists(pool, () => undefined, listeners, silentLogger, closing.signal)
    stop = async () => {
      closing.abort()
      await listening
    }
    await eventually(() => expect([heard, said.mock.calls]).toEqual([['hello'], [[]]]))
  })
  afterEach(async () => {
    await stop()
    await other.end()
    await pool.end()
  })

  /** Milliseconds from now on. */
  function later(ms: number): void {
    const now = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now + ms)
    onTestFinished(() => clock.mockRestore())
  }

  /** Lets the instance notify of a batch. Everything that it has sent is heard then. */
  async function notify(): Promise<void> {
    let advance: (advance: Advance) => void = () => undefined
    const runner = { onAdvance: (listener: typeof advance) => ((advance = listener), () => undefined) }
    const end = notifyWorkers(runner, pool, silentLogger, listeners)
    advance(advanceOf([insertRow(todoTable, row)]))
    await end()
    // Postgres sends what was notified before the answer.
    await other.query('select 1')
  }

  it('notifies others until it knows that there are none', async () => {
    await notify()
    expect(heard).toEqual(['hello', 'reminders_todo'])
    later(5_000)
    await notify()
    expect(heard).toEqual(['hello', 'reminders_todo'])
  })

  it('answers a hello, and notifies the one who said it', async () => {
    await other.query("select pg_notify('todo_lists', 'somebody hello')")
    await eventually(() => expect(heard).toContain('here'))
    later(5_000)
    await notify()
    expect(heard).toContain('reminders_todo')
  })

  it('forgets one who has answered neither of two greetings', () => {
    listeners.heard('somebody')
    later(5_000)
    for (const isPresent of [true, true, false]) {
      expect(listeners.mayBeOthers()).toBe(isPresent)
      listeners.saidHello()
    }
  })

  it('notifies again after it has lost its own connection', async () => {
    later(5_000)
    expect(listeners.mayBeOthers()).toBe(false)
    await stop()
    expect(listeners.mayBeOthers()).toBe(true)
  })
  it('connects again if nothing answers its greeting', async () => {
    const way = await silentWay(database.url)
    const distant = createPool({ url: way.url, statementTimeoutMs: 250, logger: silentLogger })
    const closing = new AbortController()
    let connections = 0
    const hear = (lists: readonly string[] | undefined) => {
      if (lists !== undefined) return
      connections += 1
      if (connections === 1) way.silence()
    }
    const known = new Listeners()
    const listening = listenForLists(distant, hear, known, silentLogger, closing.signal)
    await eventually(() => expect(connections).toBe(2))
    expect(known.mayBeOthers()).toBe(true)
    closing.abort()
    await listening
    await distant.end()
    way.close()
  })
})

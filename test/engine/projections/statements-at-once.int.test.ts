import { randomUUID } from 'node:crypto'
import { array, assert, asyncProperty, constantFrom, oneof, record, type Arbitrary } from 'fast-check'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { createWritePool, partOf, writeBatch } from '../../../engine/projections/batch-writer.ts'
import { reasonOf } from '../../../engine/projections/database-errors.ts'
import {
  defineTable,
  insertSelect,
  type Projector,
  type RowChange,
  type Table,
} from '../../../engine/projections/projector.ts'
import {
  insertRow,
  patchRow,
  patchRows,
  removeRow,
  removeRows,
  upsertRow,
} from '../../../engine/projections/row-changes.ts'
import { ensureRuntimeSchema, prepareProjector } from '../../../engine/projections/schema.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import { readRows } from '../../support/given-projector.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

/** Like a to-do list: rows are removed by a part of their key, and come from another table. */
const list = defineTable({
  name: 'list',
  columns: { key: 'text', step: 'text', note: { type: 'text', nullable: true } },
  primaryKey: ['key', 'step'],
})
const source = defineTable({
  name: 'source',
  columns: { id: 'text', key: 'text' },
  primaryKey: ['id'],
  indexes: [{ columns: ['key'] }],
})
/** Two rows may not have one place. */
const places = defineTable({
  name: 'places',
  columns: { id: 'text', place: 'text' },
  primaryKey: ['id'],
  indexes: [{ columns: ['place'], unique: true }],
})
const tables: readonly Table[] = [list, source, places]

const key = constantFrom('a', 'b', 'c')
const step = constantFrom('x', 'y')
const note = constantFrom('n', 'm', null)
const change: Arbitrary<RowChange> = oneof(
  record({ key, step, note }).map((row) => insertRow(list, row)),
  record({ key, step, note }).map((row) => upsertRow(list, row)),
  record({ key, step, note }).map((row) => patchRow(list, row)),
  record({ key, step }).map((row) => removeRow(list, row)),
  record({ key }).map((where) => removeRows(list, where)),
  record({ step }).map((where) => removeRows(list, where)),
  constantFrom('n', 'm').map((value) => removeRows(list, { note: value })),
  record({ key, note }).map(({ key: of, note: value }) => patchRows(list, { key: of }, { note: value })),
  record({ step, note }).map(({ step: of, note: value }) => patchRows(list, { step: of }, { note: value })),
  record({ id: key, key }).map((row) => upsertRow(source, row)),
  record({ id: key, key }).map((row) => insertRow(source, row)),
  record({ key }).map((where) => removeRows(source, where)),
  record({ key, step }).map(({ key: of, step: to }) =>
    insertSelect(list, {
      from: source,
      where: { key: of },
      columns: { key: { column: 'id' }, step: { value: to }, note: { column: 'key' } },
    }),
  ),
  record({ key, step }).map(({ key: of, step: to }) =>
    insertSelect(list, {
      from: source,
      where: { key: of },
      columns: { key: { column: 'id' }, step: { value: to }, note: { column: 'key' } },
      existing: 'replace',
    }),
  ),
  record({ id: key, place: step }).map((row) => upsertRow(places, row)),
  record({ id: key }).map((row) => removeRow(places, row)),
)

let database: FreshDatabase
let pool: Pool
let other: Pool
const copies = new Map<string, string>()
const reached = new Map<string, bigint>()
const place = (at: bigint) => ({ commit: at, prepare: at })

beforeAll(async () => {
  database = await freshDatabase()
  pool = createWritePool({ url: database.url })
  other = createPool({ url: database.url, max: 3 })
  await ensureRuntimeSchema(other)
})
afterAll(async () => {
  await Promise.all([pool.end(), other.end()])
  await database.drop()
})

/** A batch of events that make these changes, and a projector that makes them. */
function batchOf(name: string, changes: readonly (readonly RowChange[])[], at: bigint) {
  const byEvent = new Map(changes.map((ofEvent) => [randomUUID() as string, ofEvent]))
  const projector: Projector = {
    name,
    version: 1,
    tables,
    handlers: { Changed: ({ id }) => byEvent.get(id) ?? [] },
  }
  const events = [...byEvent.keys()].map((id, index): RecordedEvent => ({
    id,
    stream: 'test-1',
    revision: BigInt(index),
    position: place(at + 1n),
    recordedAt: '2026-03-01T10:00:00.000Z',
    type: 'Changed',
    data: {},
    metadata: { commandId: id, $correlationId: id, schemaVersion: 1, signature: '' },
  }))
  return { projector, events }
}

/** Tries to write the batch, and tells its outcome and the rows after it. */
async function outcomeOf(name: string, changes: readonly (readonly RowChange[])[]) {
  const at = reached.get(name) ?? 0n
  const { projector, events } = batchOf(name, changes, at)
  const writing = async () =>
    writeBatch(pool, [partOf(projector, events, place(at), place(at + 1n))], name === 'joined' ? { copies } : {})
  const outcome = await writing().then(
    (touched) => [...new Set([...touched].map(({ table }) => table))].toSorted(),
    (error: unknown) => reasonOf(error).replaceAll(name, ''),
  )
  if (Array.isArray(outcome)) reached.set(name, at + 1n)
  return { outcome, rows: await readRows(other, projector) }
}

it('batches give the same rows and refusals as one statement as step by step', { timeout: 120_000 }, async () => {
  for (const name of ['joined', 'stepped'])
    await inTransaction(other, (client) => prepareProjector(client, batchOf(name, [], 0n).projector))
  // A query of the pool connects with a callback. A transaction takes a connection for itself.
  const connect = vi.spyOn(pool, 'connect')
  let batchesInAll = 0
  await assert(
    asyncProperty(
      array(array(array(change, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }), {
        minLength: 1,
        maxLength: 6,
      }),
      async (batches) => {
        for (const name of ['joined', 'stepped'])
          await other.query(`delete from ${name}.list; delete from ${name}.source; delete from ${name}.places`)
        for (const changes of batches) {
          expect(await outcomeOf('joined', changes)).toEqual(await outcomeOf('stepped', changes))
          batchesInAll += 1
        }
      },
    ),
    { numRuns: 60 },
  )
  // Step by step each batch is a transaction. Many of the others must be none, or nothing was compared.
  const transactions = connect.mock.calls.filter((asked: readonly unknown[]) => asked.length === 0).length
  expect(transactions - batchesInAll).toBeLessThan(batchesInAll * 0.8)
  connect.mockRestore()
})

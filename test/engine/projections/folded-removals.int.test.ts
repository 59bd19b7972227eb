import { array, assert, asyncProperty, constantFrom, oneof, record, type Arbitrary } from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { defineTable, type RowChange } from '../../../engine/projections/projector.ts'
import {
  insertRow,
  patchRow,
  patchRows,
  removeRow,
  removeRows,
  upsertRow,
} from '../../../engine/projections/row-changes.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { singly, writePlanned, type Batch } from './planned-writes.ts'

const steps = defineTable({
  name: 'steps',
  columns: { list: 'text', step: 'text', owner: { type: 'text', nullable: true } },
  primaryKey: ['list', 'step'],
})
const lists = ['a', 'b'] as const
const names = ['x', 'y'] as const
const owners = ['o', 'p', null] as const
const key = { list: constantFrom(...lists), step: constantFrom(...names) }
const row = { ...key, owner: constantFrom(...owners) }
const owner = constantFrom('o', 'p')

const change: Arbitrary<RowChange> = oneof(
  record(row).map((values) => insertRow(steps, values)),
  record(row).map((values) => upsertRow(steps, values)),
  record(row).map(({ list, step, owner: to }) => patchRow(steps, { list, step, owner: to })),
  record(key).map((values) => removeRow(steps, values)),
  record(key).map((where) => removeRows(steps, where)),
  record({ list: key.list }).map((where) => removeRows(steps, where)),
  record({ owner }).map((where) => removeRows(steps, where)),
  record({ step: key.step, owner }).map((where) => removeRows(steps, where)),
  record({ list: key.list, owner }).map(({ list, owner: to }) => patchRows(steps, { list }, { owner: to })),
)

let database: FreshDatabase
let pool: Pool

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 1 })
  await pool.query(
    'create schema folded; create table folded.steps (list text, step text, owner text, primary key (list, step))',
  )
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

const write = (...batches: readonly Batch[]) => writePlanned(pool, { schema: 'folded', table: steps }, batches)

async function fill(changes: readonly RowChange[]): Promise<void> {
  await pool.query('delete from folded.steps')
  for (const each of changes) await write([[each]])
}

async function contents(): Promise<unknown[]> {
  return (await pool.query('select * from folded.steps order by list, step')).rows
}

/** As the runtime does: event by event after a refused batch, up to the first refused event. */
async function outcomeOf(
  before: readonly RowChange[],
  batch: readonly RowChange[],
  isFolded: boolean,
): Promise<unknown> {
  await fill(before)
  let taken = isFolded && (await write(singly(batch))) ? batch.length : 0
  while (taken < batch.length && (await write(singly(batch.slice(taken, taken + 1))))) taken += 1
  return { taken, rows: await contents() }
}

it('removals of rows by values leave the same rows in one batch as one after the other', async () => {
  await assert(
    asyncProperty(
      array(change, { maxLength: 6 }),
      array(change, { minLength: 1, maxLength: 10 }),
      async (before, batch) => {
        expect(await outcomeOf(before, batch, true)).toEqual(await outcomeOf(before, batch, false))
      },
    ),
    { numRuns: 40 },
  )
})

it('a row that the same event removed by its values does not block a new one', async () => {
  await fill([
    insertRow(steps, { list: 'a', step: 'x', owner: 'o' }),
    insertRow(steps, { list: 'b', step: 'x', owner: 'p' }),
  ])
  const moved = [
    patchRow(steps, { list: 'b', step: 'x', owner: null }),
    removeRows(steps, { owner: 'o' }),
    insertRow(steps, { list: 'a', step: 'x', owner: 'p' }),
  ]
  expect(await write([moved])).toBe(true)
  expect(await contents()).toEqual([
    { list: 'a', step: 'x', owner: 'p' },
    { list: 'b', step: 'x', owner: null },
  ])
})

it('the changes of one event are accepted or refused as one after the other', async () => {
  await assert(
    asyncProperty(
      array(change, { maxLength: 4 }),
      array(change, { minLength: 2, maxLength: 6 }),
      async (before, changes) => {
        const outcomes: unknown[] = []
        for (const batches of [[[changes]], changes.map((each) => [[each]])]) {
          await fill(before)
          outcomes.push({ isTaken: await write(...batches), rows: await contents() })
        }
        expect(outcomes[0]).toEqual(outcomes[1])
      },
    ),
    { numRuns: 60 },
  )
})

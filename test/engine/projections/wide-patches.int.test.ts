import { array, assert, asyncProperty, constantFrom, oneof, record, type Arbitrary } from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { defineTable, type RowChange } from '../../../engine/projections/projector.ts'
import { insertRow, patchRow, patchRows, removeRow, upsertRow } from '../../../engine/projections/row-changes.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { singly, writePlanned } from './planned-writes.ts'

const parts = defineTable({
  name: 'parts',
  columns: {
    parent: 'uuid',
    place: 'integer',
    label: { type: 'text', nullable: true },
    weight: { type: 'integer', nullable: true },
  },
  primaryKey: ['parent', 'place'],
})

const wide = { schema: 'wide', table: parts }
const parents = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000B'] as const

const key = { parent: constantFrom(...parents), place: constantFrom(1, 2, 3) }
const label = constantFrom('x', 'y', null)
const weight = constantFrom(1, 2)

/** One change. Changes by the parent alone are the wide ones, also with another spelling of its id. */
const change: Arbitrary<RowChange> = oneof(
  record({ ...key, label }).map((row) => insertRow(parts, row)),
  record({ ...key, weight }).map((row) => upsertRow(parts, row)),
  record({ ...key, label }).map(({ parent, place, label: text }) => patchRow(parts, { parent, place, label: text })),
  record(key).map((row) => removeRow(parts, row)),
  record({ parent: key.parent, label }).map(({ parent, label: text }) =>
    patchRows(parts, { parent: parent.toUpperCase() }, { label: text }),
  ),
  record({ parent: key.parent, weight }).map(({ parent, weight: grams }) =>
    patchRows(parts, { parent }, { weight: grams }),
  ),
  record({ place: key.place, weight }).map(({ place, weight: grams }) =>
    patchRows(parts, { place }, { weight: grams }),
  ),
  record({ label, weight }).map(({ label: text, weight: grams }) =>
    patchRows(parts, { label: text }, { weight: grams }),
  ),
)

describe('patches of all rows of a parent', () => {
  let database: FreshDatabase
  let pool: Pool

  beforeAll(async () => {
    database = await freshDatabase()
    pool = createPool({ url: database.url, max: 1 })
    await pool.query(
      'create schema wide; create table wide.parts (parent uuid, place integer, label text, weight integer, primary key (parent, place))',
    )
  })

  beforeEach(async () => {
    await pool.query('delete from wide.parts')
  })

  afterAll(async () => {
    await pool.end()
    await database.drop()
  })

  const write = (batches: readonly (readonly RowChange[])[]) => writePlanned(pool, wide, batches.map(singly))

  async function contents(): Promise<unknown[]> {
    return (await pool.query('select * from wide.parts order by parent, place')).rows
  }

  it('leave the same rows in one batch as one after the other', async () => {
    await assert(
      asyncProperty(
        array(change, { maxLength: 12 }),
        array(change, { minLength: 1, maxLength: 12 }),
        async (before, changes) => {
          const outcomes: unknown[] = []
          for (const batches of [[changes], changes.map((each) => [each])]) {
            await pool.query('delete from wide.parts')
            for (const each of before) await write([[each]])
            outcomes.push({ isTaken: await write(batches), rows: await contents() })
          }
          expect(outcomes[0]).toEqual(outcomes[1])
        },
      ),
      { numRuns: 60 },
    )
  })

  it('of many parents have changes of single rows between them', async () => {
    const [one, other] = parents
    const changes = [one, other].flatMap((parent) => [
      insertRow(parts, { parent, place: 1, label: 'x' }),
      patchRows(parts, { parent }, { label: null }),
      patchRow(parts, { parent, place: 1, weight: 2 }),
    ])

    expect(await write([changes])).toBe(true)
    expect(await contents()).toEqual(
      [one, other].map((parent) => ({ parent: parent.toLowerCase(), place: 1, label: null, weight: 2 })),
    )
  })
})

import { array, assert, asyncProperty, jsonValue, option, string } from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { columnArrays, type ColumnList } from '../../../engine/projections/column-arrays.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

const columns: ColumnList = [
  ['a_uuid', 'uuid'],
  ['a_text', 'text'],
  ['an_integer', 'integer'],
  ['a_bigint', 'bigint'],
  ['a_numeric', 'numeric'],
  ['a_boolean', 'boolean'],
  ['an_instant', 'timestamptz'],
  ['a_jsonb', 'jsonb'],
]

describe('rows as one array per column', () => {
  let database: FreshDatabase
  let pool: Pool

  beforeAll(async () => {
    database = await freshDatabase()
    pool = createPool({ url: database.url, max: 1 })
  })

  afterAll(async () => {
    await pool.end()
    await database.drop()
  })

  async function readBack(list: ColumnList, rows: readonly Readonly<Record<string, unknown>>[]): Promise<unknown[]> {
    const arrays = list.map(([, type], index) => `$${index + 1}::${type}[]`)
    const names = list.map(([name]) => name)
    const answer = await pool.query(
      `select * from unnest(${arrays.join(', ')}) as x(${names.join(', ')})`,
      columnArrays(list, rows),
    )
    return answer.rows
  }

  it('return with equal values', async () => {
    const full = {
      a_uuid: '00000000-0000-4000-8000-00000000000a',
      a_text: 'null',
      an_integer: -7,
      a_bigint: '9223372036854775807',
      a_numeric: '12.50',
      a_boolean: false,
      an_instant: '2026-02-28T23:59:59.999Z',
      a_jsonb: { list: [1, null, '"quoted" \\ {braces}'] },
    }
    const none = Object.fromEntries(columns.map(([name]) => [name, null]))

    expect(await readBack(columns, [full, {}, { ...none }])).toEqual([
      { ...full, an_instant: new Date(full.an_instant) },
      none,
      none,
    ])
    expect(
      await readBack(
        [
          ['a_numeric', 'numeric'],
          ['a_text', 'text'],
        ],
        [{ a_numeric: 0.1, a_text: '' }],
      ),
    ).toEqual([{ a_numeric: '0.1', a_text: '' }])
    expect(await readBack(columns, [])).toEqual([])
  })

  it('accept any text and any JSON that Postgres can store', async () => {
    const text = string({ unit: 'binary' }).filter((value) => !value.includes('\0') && value.isWellFormed())
    const json = jsonValue({ stringUnit: 'grapheme', noUnicodeString: false }).filter(
      (value) => value !== null && !JSON.stringify(value).includes('\\u0000'),
    )
    await assert(
      asyncProperty(array(option(text), { minLength: 1 }), json, async (texts, value) => {
        // JSON has no negative zero.
        const a_jsonb: unknown = JSON.parse(JSON.stringify(value))
        const rows = texts.map((a_text) => ({ a_text, a_jsonb }))
        expect(
          await readBack(
            [
              ['a_text', 'text'],
              ['a_jsonb', 'jsonb'],
            ],
            rows,
          ),
        ).toEqual(rows)
      }),
      { numRuns: 50 },
    )
  })

  it('replace each character that Postgres cannot store', async () => {
    const odd = 'a\0b\ud800c'
    const rows = await readBack(
      [
        ['a_text', 'text'],
        ['a_jsonb', 'jsonb'],
      ],
      [{ a_text: odd, a_jsonb: { [odd]: [odd] } }],
    )
    const stored = 'a\uFFFDb\uFFFDc'

    expect(rows).toEqual([{ a_text: stored, a_jsonb: { [stored]: [stored] } }])
  })
})

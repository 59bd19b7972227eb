import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

let database: FreshDatabase
let pool: Pool

// The module gives out names once per process. This file uses them up, so it has an instance of its own.
vi.resetModules()
const { prepared, queryPrepared } = await import('../../../platform/database/prepared.ts')

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 1 })
  await pool.query('create schema notes create table notes (id int primary key, at text)')
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

describe('a prepared statement', () => {
  it('takes other values each time', async () => {
    const text = 'insert into notes.notes values ($1, $2)'
    for (const id of [1, 2, 3]) await pool.query(prepared(text, [id, 'x']))
    expect((await queryPrepared<{ id: number }>(pool, 'select id from notes.notes order by id', [])).rows).toEqual([
      { id: 1 },
      { id: 2 },
      { id: 3 },
    ])
  })

  it('writes to the tables that its text names after schemas were renamed, and after they were renamed back', async () => {
    await pool.query('create schema notes__next create table notes (id int primary key, at text, more boolean)')
    const text = 'insert into notes.notes (id, at) values ($1, $2)'
    await pool.query(prepared(text, [10, 'first']))
    await pool.query('alter schema notes rename to notes__previous; alter schema notes__next rename to notes')
    await pool.query(prepared(text, [11, 'second']))
    await pool.query('alter schema notes rename to notes__next; alter schema notes__previous rename to notes')
    await pool.query(prepared(text, [12, 'third']))
    expect((await pool.query('select id from notes.notes where id >= 10 order by id')).rows).toEqual([
      { id: 10 },
      { id: 12 },
    ])
    expect((await pool.query('select id, more from notes__next.notes')).rows).toEqual([{ id: 11, more: null }])
  })

  it('is prepared again on another connection if its result has other columns now', async () => {
    const text = 'select * from notes.notes where id = $1'
    expect((await queryPrepared(pool, text, [1])).rows).toEqual([{ id: 1, at: 'x' }])
    await pool.query('alter table notes.notes add column more text')
    expect((await queryPrepared(pool, text, [1])).rows).toEqual([{ id: 1, at: 'x', more: null }])
  })

  it('works also after so many others that the session of Postgres keeps no more of them', async () => {
    const texts = Array.from({ length: 600 }, (_, index) => `select ${index}`)
    const answers = []
    for (const text of texts) answers.push(...(await queryPrepared(pool, text, [])).rows)
    expect(answers).toEqual(texts.map((_, index) => ({ '?column?': index })))
    const kept = await pool.query('select from pg_prepared_statements')
    expect(kept.rows.length).toBeLessThanOrEqual(500)
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool, type Pool } from '../../platform/database/database.ts'
import { rowOf } from '../../read-api/rows.ts'
import { freshDatabase, type FreshDatabase } from '../support/postgres.ts'
import { problemOf } from './read-tables.ts'

let database: FreshDatabase
let pool: Pool
beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 3 })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const text = 'select * from things.things where id = $1'
const onAll = () => Promise.all(Array.from({ length: 3 }, () => rowOf(pool, text, [1])))

describe('the row of a query by id', () => {
  it('is read on from tables of another shape that were switched for those it was prepared on, by every connection', async () => {
    await pool.query('create schema things create table things (id int primary key, at text)')
    await pool.query("insert into things.things values (1, 'old')")
    expect(await onAll()).toEqual(Array.from({ length: 3 }, () => ({ id: 1, at: 'old' })))
    const {
      rows: [prepared],
    } = await pool.query<{ count: number }>(
      'select count(*)::int as count from pg_prepared_statements where statement = $1',
      [text],
    )
    expect(prepared).toEqual({ count: 1 })
    await pool.query('create schema things__next create table things (id int primary key, at int, more boolean)')
    await pool.query('insert into things__next.things values (1, 2, true)')
    const client = await pool.connect()
    await client.query(
      'begin; alter schema things rename to things__previous; alter schema things__next rename to things; commit',
    )
    client.release()
    expect(await onAll()).toEqual(Array.from({ length: 3 }, () => ({ id: 1, at: 2, more: true })))
    expect(await problemOf(rowOf(pool, text, [7]))).toBe('not-found')
  })

  it('fails for what is wrong with it at once', async () => {
    await expect(rowOf(pool, 'select * from things.nothing where id = $1', [1])).rejects.toThrow('things.nothing')
  })
})

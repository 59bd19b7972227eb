import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool, ensureDatabase, isDatabaseMissing, isDatabaseUnavailable } from '../../platform/database.ts'
import { createLogger } from '../../platform/logging.ts'
import { freshDatabase, type FreshDatabase } from '../support/postgres.ts'

let database: FreshDatabase
beforeAll(async () => { database = await freshDatabase() })
afterAll(() => database.drop())

async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(() => undefined, (reason: unknown) => reason)
}

describe('a pool', () => {
  it('gives bigint and numeric as text, instants as dates, dates as text, json parsed', async () => {
    const pool = createPool({ url: database.url })
    const { rows } = await pool.query(`select 9007199254740993::bigint as large, 18446744073709551615.5::numeric as exact,
      '2030-01-02T03:04:05.678Z'::timestamptz as at, '2030-01-02'::date as day, '{"a":[1]}'::jsonb as doc, true as flag, 7::int as small, null::bigint as none`)
    await pool.end()
    expect(rows).toEqual([{
      large: '9007199254740993', exact: '18446744073709551615.5', at: new Date('2030-01-02T03:04:05.678Z'), day: '2030-01-02', doc: { a: [1] }, flag: true, small: 7, none: null,
    }])
  })

  it('survives the loss of an idle connection', async () => {
    const pool = createPool({ url: database.url, logger: createLogger({ level: 'silent' }) })
    const other = createPool({ url: database.url })
    const { rows: [row] } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid')
    const lost = new Promise((resolve) => pool.once('error', resolve))
    await other.query('select pg_terminate_backend($1)', [row?.pid])
    expect(isDatabaseUnavailable(await lost)).toBe(true)
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await Promise.all([pool.end(), other.end()])
  })
})

describe('a connection in use that is cut', () => {
  it('fails its next statement, and nothing else', async () => {
    const pool = createPool({ url: database.url })
    const other = createPool({ url: database.url })
    const client = await pool.connect()
    const { rows: [row] } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    await other.query('select pg_terminate_backend($1)', [row?.pid])
    await ended
    await expect(client.query('select 1')).rejects.toThrow()
    client.release(true)
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await Promise.all([pool.end(), other.end()])
  })
})

describe('a missing database', () => {
  it('is created once, whoever asks at the same time, and told apart from an absent server', async () => {
    const url = new URL(database.url)
    const name = `made-${randomBytes(6).toString('hex')}`
    url.pathname = `/${name}`
    const pool = createPool({ url: url.href })
    expect(isDatabaseMissing(await reasonOf(pool.query('select 1')))).toBe(true)
    const made = await Promise.all([ensureDatabase(url.href), ensureDatabase(url.href), ensureDatabase(url.href)])
    expect(made.filter(Boolean)).toHaveLength(1)
    expect(await ensureDatabase(url.href)).toBe(false)
    expect((await pool.query('select current_database() as name')).rows).toEqual([{ name }])
    await pool.end()
    const admin = createPool({ url: database.url })
    await admin.query(`drop database "${name}" with (force)`)
    await admin.end()

    url.port = '1'
    const absent = await reasonOf(ensureDatabase(url.href))
    expect([isDatabaseMissing(absent), isDatabaseUnavailable(absent)]).toEqual([false, true])
  })
})

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  areSameDatabase,
  createPool,
  ensureDatabase,
  isDatabaseMissing,
  isDatabaseUnavailable,
  type Pool,
} from '../../../platform/database/database.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { createWritePool } from '../../../engine/projections/batch-writer.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'
import { silentWay } from '../../support/silent-way.ts'

let database: FreshDatabases
beforeAll(async () => {
  database = await freshDatabases()
})
afterAll(() => database.drop())

async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
}

describe('a pool', () => {
  it('returns bigint and numeric as text, instants as dates, dates as text, and parsed json', async () => {
    const pool = createPool({ url: database.url })
    const { rows } =
      await pool.query(`select 9007199254740993::bigint as large, 18446744073709551615.5::numeric as exact,
      '2030-01-02T03:04:05.678Z'::timestamptz as at, '2030-01-02'::date as day, '{"a":[1]}'::jsonb as doc, true as flag, 7::int as small, null::bigint as none`)
    await pool.end()
    expect(rows).toEqual([
      {
        large: '9007199254740993',
        exact: '18446744073709551615.5',
        at: new Date('2030-01-02T03:04:05.678Z'),
        day: '2030-01-02',
        doc: { a: [1] },
        flag: true,
        small: 7,
        none: null,
      },
    ])
  })

  it('reads names correctly, whatever similar names were read before', async () => {
    const pool = createPool({ url: database.url })
    for (let turn = 0; turn < 3; turn += 1) {
      JSON.parse('{"b":0,"c\\\\":1}')
      const {
        rows: [row],
      } = await pool.query<{ doc: object }>({ text: 'select $1::jsonb as doc', values: ['{"b":0,"c\\"":2}'] })
      expect(Object.entries(row?.doc ?? {})).toEqual([
        ['b', 0],
        ['c"', 2],
      ])
    }
    await pool.end()
  })

  it.runIf(process.platform === 'linux')(
    'lets the server give up a machine that answers nothing within 15 s',
    async () => {
      const pool = createPool({ url: database.url })
      const names = ['tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count', 'tcp_user_timeout']
      const { rows } = await pool.query<Record<string, string>>(
        `select ${names.map((name) => `current_setting('${name}') as ${name}`).join()}`,
      )
      await pool.end()
      const [idle = 0, interval = 0, count = 0, timeoutMs = 0] = names.map((name) => Number(rows[0]?.[name]))
      expect(idle + interval * count).toBe(15)
      expect(timeoutMs).toBe(15_000)
    },
  )

  it('turns compilation off and applies its settings on every connection; options in the address have precedence', async () => {
    const shown = async (pool: Pool) => {
      const clients = await Promise.all([pool.connect(), pool.connect()])
      const settings = await Promise.all(
        clients.map(async (client) => {
          const {
            rows: [row],
          } = await client.query<object>(
            `select ${['jit', 'plan_cache_mode', 'work_mem'].map((name) => `current_setting('${name}') as ${name}`).join()}`,
          )
          return row
        }),
      )
      for (const client of clients) client.release()
      await pool.end()
      expect(settings[1]).toEqual(settings[0])
      return settings[0]
    }
    const withOptions = (options: string) => `${database.url}?options=${encodeURIComponent(options)}`
    const { work_mem } = (await shown(createPool({ url: database.url }))) as { work_mem: string }

    expect(await shown(createPool({ url: database.url }))).toEqual({ jit: 'off', plan_cache_mode: 'auto', work_mem })
    expect(await shown(createWritePool({ url: database.url }))).toEqual({
      jit: 'off',
      plan_cache_mode: 'force_generic_plan',
      work_mem,
    })
    expect(await shown(createWritePool({ url: withOptions('-c work_mem=5MB') }))).toEqual({
      jit: 'off',
      plan_cache_mode: 'force_generic_plan',
      work_mem: '5MB',
    })
    expect(await shown(createWritePool({ url: withOptions('-c jit=on -c plan_cache_mode=auto') }))).toEqual({
      jit: 'on',
      plan_cache_mode: 'auto',
      work_mem,
    })
  })

  it('survives the loss of an idle connection', async () => {
    const pool = createPool({ url: database.url, logger: createLogger({ level: 'silent' }) })
    const other = createPool({ url: database.url })
    const {
      rows: [row],
    } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid')
    const lost = new Promise((resolve) => pool.once('error', resolve))
    await other.query('select pg_terminate_backend($1)', [row?.pid])
    expect(isDatabaseUnavailable(await lost)).toBe(true)
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await Promise.all([pool.end(), other.end()])
  })
})

describe('a connection in use that is cut', () => {
  it('fails only its next statement', async () => {
    const pool = createPool({ url: database.url })
    const other = createPool({ url: database.url })
    const client = await pool.connect()
    const {
      rows: [row],
    } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    await other.query('select pg_terminate_backend($1)', [row?.pid])
    await ended
    await expect(client.query('select 1')).rejects.toThrow()
    client.release(true)
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await Promise.all([pool.end(), other.end()])
  })
})

describe('a server that stops answering', () => {
  it('is abandoned after the time limit, also in a transaction', async () => {
    const way = await silentWay(database.url)
    const pool = createPool({ url: way.url, statementTimeoutMs: 200 })
    const clients = await Promise.all([pool.connect(), pool.connect()])
    for (const client of clients) client.release()
    const transaction = inTransaction(pool, async (client) => {
      way.silence()
      await client.query('select 1')
    })
    const reasons = [await reasonOf(transaction), await reasonOf(pool.query('select 1'))]
    expect(reasons.map(isDatabaseUnavailable)).toEqual([true, true])
    expect(pool.totalCount).toBe(0)
    way.close()
    await pool.end()
  })

  it('the server ends a slow statement, and its connection stays usable', async () => {
    const pool = createPool({ url: database.url, statementTimeoutMs: 200, max: 1 })
    expect(isDatabaseUnavailable(await reasonOf(pool.query('select pg_sleep(10)')))).toBe(true)
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await pool.end()
  })
})

describe('a missing database', () => {
  it('is created once by parallel callers; a missing database differs from an absent server', async () => {
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

describe('two addresses', () => {
  it('are compared by the servers themselves, without a remaining lock', async () => {
    const { url, vaultUrl } = database
    const spelledOtherwise = `${url}?application_name=other`
    expect(await areSameDatabase(url, spelledOtherwise)).toBe(true)
    expect([await areSameDatabase(url, vaultUrl), await areSameDatabase(vaultUrl, url)]).toEqual([false, false])
    const pool = createPool({ url })
    expect(
      (
        await pool.query(
          "select * from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())",
        )
      ).rows,
    ).toEqual([])
    await pool.end()
  })
})

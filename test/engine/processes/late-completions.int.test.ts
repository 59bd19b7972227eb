import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PoolClient } from 'pg'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { Claims, type Completion } from '../../../engine/processes/claims.ts'
import { emptyProjectors } from '../../support/empty-projectors.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { errands } from './errands.ts'
import { eventually } from '../../support/eventually.ts'

let database: FreshDatabase
/** A statement that waits for a lock of another worker fails. */
let pool: Pool
let ours: Claims
let theirs: Claims

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 3, statementTimeoutMs: 4_000 })
  await ensureRuntimeSchema(pool)
  ours = new Claims(pool, errands, { id: 'ours' })
  theirs = new Claims(pool, errands, { id: 'theirs' })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const now = new Date('2030-01-01T00:00:00.000Z')
const at = (ms: number) => new Date(now.getTime() + ms)
const quotas = { others: 16, unhealthy: 4, known: [] }

beforeEach(async () => {
  await emptyProjectors(pool, [errands.list])
  await pool.query('delete from runtime.claims')
  for (const key of ['their-late', 'our-late', 'fresh']) {
    const due = key === 'fresh' ? at(25_000) : at(-1)
    await pool.query(
      `insert into errand_list.todo (key, step, due_at, payload, lane) values ($1, 'run', $2, '{}', $1)`,
      [key, due],
    )
  }
  expect((await theirs.claim(1, now, at(20_000))).length + (await ours.claim(1, now, at(20_000))).length).toBe(2)
  await pool.query(`update runtime.claims set worker = case key when 'our-late' then 'ours' else 'theirs' end`)
})

const completionOf = (key: string): Completion => ({
  key,
  step: 'run',
  notBefore: at(60_000),
  isDone: false,
  fence: undefined,
  failures: 0,
})

/** The other worker gives back a row whose lease has ended, and has not committed this. */
async function whileTheyComplete(work: (client: PoolClient) => Promise<unknown>): Promise<void> {
  await inTransaction(pool, async (client) => {
    await new Claims(client, errands, { id: 'theirs' }).complete([completionOf('their-late')])
    await work(client)
  })
}

const keysOf = async (claiming: ReturnType<Claims['claim']>) => (await claiming).map(({ todo }) => todo.key)

describe('a claim with an ended lease that its worker is giving back', () => {
  it.each([
    ['with concurrency keys', quotas],
    ['without', undefined],
  ])('is passed over by a claim, %s', async (_, shared) => {
    await whileTheyComplete(async () => {
      await ours.complete([completionOf('our-late')])
      expect(await keysOf(ours.claim(16, at(30_000), at(50_000), shared))).toEqual(['fresh'])
    })
    expect(await keysOf(ours.claim(16, at(60_000), at(80_000), shared))).toEqual(
      expect.arrayContaining(['our-late', 'their-late']),
    )
  })

  it('is passed over by a sweep of claims without rows', async () => {
    await pool.query('delete from errand_list.todo')
    const left = async () =>
      (await pool.query<{ key: string }>('select key from runtime.claims')).rows.map(({ key }) => key)
    await whileTheyComplete(async () => {
      await ours.sweep(at(30_000))
      expect(await left()).toEqual(['their-late'])
    })
    await ours.sweep(at(30_000))
    expect(await left()).toEqual([])
  })
})

it.each([
  ['with concurrency keys', quotas],
  ['without', undefined],
])('a row that another worker claims during our claim stays with that worker, %s', async (_, shared) => {
  const other = await pool.connect()
  await other.query('begin')
  await other.query(
    `insert into runtime.claims (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures)
     values ('errands', 'fresh', 'run', 'theirs', $1, '-infinity', 0, 0, 0)`,
    [at(45_000)],
  )
  const claiming = keysOf(ours.claim(16, at(30_000), at(50_000), shared))
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await eventually(async () => expect((await pool.query(waiting)).rowCount).toBe(1))
  await other.query('commit')
  other.release()
  expect((await claiming).toSorted()).toEqual(['our-late', 'their-late'])
})

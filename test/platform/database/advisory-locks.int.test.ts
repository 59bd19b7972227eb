import type { QueryConfig, QueryResult } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AdvisoryLocks } from '../../../platform/database/advisory-locks.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

let database: FreshDatabase
let pool: Pool

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 2 })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

it('share one connection, whose statements run one after another', async () => {
  const client = await pool.connect()
  const query = client.query.bind(client)
  let [running, most] = [0, 0]
  const counting = async (statement: QueryConfig): Promise<QueryResult> => {
    running += 1
    most = Math.max(most, running)
    return query(statement).finally(() => (running -= 1))
  }
  Object.assign(client, { query: counting })
  client.release()
  const locks = await AdvisoryLocks.open(pool, () => undefined)
  const names = ['left', 'right', 'left']
  expect(await Promise.all(names.map((name) => locks.tryAcquire(name)))).toEqual([true, true, true])
  await locks.close()
  expect(most).toBe(1)
})

it('are free for others after they are closed', async () => {
  const [first, second] = await Promise.all([1, 2].map(() => AdvisoryLocks.open(pool, () => undefined)))
  expect(await first?.tryAcquire('one')).toBe(true)
  expect(await second?.tryAcquire('one')).toBe(false)
  await first?.close()
  expect(await second?.tryAcquire('one')).toBe(true)
  await second?.close()
})

import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { createClaimsPool } from '../../../engine/processes/claims-pool.ts'
import { bindProcess } from '../../../engine/processes/process.ts'
import { Workers } from '../../../engine/processes/workers.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { freshEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { closed, emptyDatabase, filter, opened, openTicketStore, say, silentLogger } from '../projections/tickets.ts'
import { farewells } from './farewells.ts'
import { reminders } from './reminders.ts'

let node: TestEventStore
let store: EventStore
let database: FreshDatabase
let pool: Pool
/** Only the workers use it, so their queries can be counted. */
let workersPool: Pool
let runner: ProjectionRunner
let workers: Workers
let hanging: PromiseWithResolvers<void>
let calls: string[]
let queries = 0
let round = 0

beforeAll(async () => {
  node = await freshEventStore()
  store = await openTicketStore(node.url)
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 8 })
  workersPool = createClaimsPool({ url: database.url, max: 8 })
  workersPool.on('acquire', () => {
    queries += 1
  })
})
afterAll(async () => {
  await store.close()
  await node.stop()
  await Promise.all([pool.end(), workersPool.end()])
  await database.drop()
})
beforeEach(async () => {
  await emptyDatabase(pool)
  runner = new ProjectionRunner({
    eventStore: store,
    pool,
    projectors: [reminders.list, farewells.list],
    filter,
    logger: silentLogger,
    heartbeatMs: 50,
  })
  runner.start()
  hanging = Promise.withResolvers<void>()
  calls = []
  round += 1
})
afterEach(async () => {
  hanging.resolve()
  await workers.close(200)
  await runner.close()
})

const now = new Date('2030-01-01T00:00:00.000Z')
const [past, soon] = ['at 2029-12-31T00:00:00.000Z', 'at 2030-01-01T00:00:00.001Z']

/** Ten workers and ten due steps of one process that hang. `said` resolves with the first step of the other process. */
async function hangTen(): Promise<{ readonly said: Promise<string> }> {
  const keys = Array.from({ length: 10 }, (_, index) => `r${round}-${index}`)
  await Promise.all(keys.map((key) => say(store, `ticket-${key}`, opened(key, past))))
  // By the clock of the workers it is never due.
  await say(store, `ticket-r${round}-later`, opened(`r${round}-later`, soon))
  await runner.caughtUp()
  const { promise: said, resolve } = Promise.withResolvers<string>()
  const full = Promise.withResolvers<void>()
  const act = async () => {
    if (calls.length >= 8) full.resolve()
    await hanging.promise
    return { kind: 'retry', after: 3_600_000, reason: 'hung' } as const
  }
  const processes = [
    bindProcess(reminders, { store, calls, act }),
    bindProcess(farewells, { onStep: ({ key }) => resolve(key) }),
  ]
  workers = new Workers({
    eventStore: store,
    pool: workersPool,
    processes,
    filter,
    logger: silentLogger,
    runner,
    now: () => now,
    workers: 10,
    pollMs: 60_000,
    stepTimeoutMs: 55_000,
    stepLeaseMs: 60_000,
  })
  workers.start()
  await full.promise
  return { said }
}

it('steps of one process that hang do not take the workers that are reserved for the others', async () => {
  const { said } = await hangTen()
  const other = `r${round}-other`
  await say(store, `ticket-${other}`, closed(other))
  expect(await said).toBe(other)
  expect(calls).toHaveLength(8)
  hanging.resolve()
  await expect.poll(() => calls.length, { timeout: 15_000 }).toBe(10)
})

it('a process without room reads no rows until one of its steps ends', async () => {
  await hangTen()
  // The queries of the start end meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 200))
  const before = queries
  const wakes = 5
  for (let wake = 0; wake < wakes; wake += 1) {
    workers.wake()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  // A round claims rows of the other process and reads when its next one is due. Twice that leaves room for another round.
  expect(queries - before).toBeGreaterThan(0)
  expect(queries - before).toBeLessThanOrEqual(wakes * 4)
  expect(calls).toHaveLength(8)
})

it('rows that fail hold a quarter of the workers at most, and each gets its try', async () => {
  const failing = Array.from({ length: 6 }, (_, index) => `r${round}-failing-${index}`)
  await Promise.all(failing.map((key) => say(store, `ticket-${key}`, opened(key, past))))
  await runner.caughtUp()
  await pool.query(
    `insert into runtime.claims (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures, error_class, first_failed_at, last_failed_at)
     select 'reminders', key, 'rename', 'before', '-infinity', '-infinity', 0, 0, 1, 'Error', now(), now() from unnest($1::text[]) key`,
    [failing],
  )
  const isFailing = (key: string) => failing.includes(key)
  workers = new Workers({
    eventStore: store,
    pool: workersPool,
    processes: [
      bindProcess(reminders, {
        store,
        calls,
        async act({ key }) {
          // Tickets of the tests before are due too.
          if (!key.startsWith(`r${round}-`)) return { kind: 'retry', after: 3_600_000, reason: 'of another test' }
          if (!isFailing(key)) return undefined
          await hanging.promise
          return { kind: 'retry', after: 3_600_000, reason: 'hung' }
        },
      }),
    ],
    filter,
    logger: silentLogger,
    runner,
    now: () => now,
    workers: 10,
    pollMs: 60_000,
    stepTimeoutMs: 55_000,
    stepLeaseMs: 60_000,
  })
  workers.start()
  await expect.poll(() => calls.filter(isFailing).length, { timeout: 15_000 }).toBe(2)
  const fresh = Array.from({ length: 12 }, (_, index) => `r${round}-fresh-${index}`)
  for (const key of fresh) {
    await say(store, `ticket-${key}`, opened(key, past))
    // Each look for work could take more of those that fail.
    workers.wake()
  }
  await expect.poll(() => calls.filter((key) => fresh.includes(key)).length, { timeout: 15_000 }).toBe(12)
  expect(calls.filter(isFailing)).toHaveLength(2)
  hanging.resolve()
  await expect.poll(() => calls.filter(isFailing).toSorted(), { timeout: 15_000 }).toEqual(failing)
})

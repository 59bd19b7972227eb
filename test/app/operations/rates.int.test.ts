import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { latencyAt, Rates } from '../../../app/operations/minute-rates.ts'
import { readRates, storeRates } from '../../../app/operations/rates.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { appTables } from '../../../app/runtime-tables.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

let database: FreshDatabase
let pool: Pool
const logger = createLogger({ level: 'silent' })
beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 2 })
  await ensureRuntimeSchema(pool, appTables)
})
beforeEach(() => pool.query('truncate runtime.rates'))
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const start = new Date(Math.floor(Date.now() / 60_000) * 60_000)
const later = (seconds: number) => new Date(start.getTime() + seconds * 1_000)

/** A process whose clock the test moves. */
function processAt(seconds: number) {
  const clock = { at: later(seconds) }
  const rates = new Rates(() => clock.at)
  const id = randomUUID()
  return { clock, rates, store: () => storeRates({ id, rates, pool, logger, everyMs: 60_000 }).close() }
}
const answered = (durationMs: number, status = 200) => ({ status, durationMs })
const none = { requests: 0, errors: 0, p50_ms: null, p99_ms: null, assessments: 0, deliveries_failed: 0 }

it('the rates of all processes are added, by minutes, the oldest first', async () => {
  const [one, other] = [processAt(5), processAt(10)]
  for (const durationMs of [3, 3, 30]) one.rates.request(answered(durationMs))
  one.rates.request(answered(40_000, 503))
  // The caller's fault.
  other.rates.request(answered(3, 501))
  other.rates.appended([{ type: 'AssessmentCompleted' }, { type: 'AssessmentFailed' }, { type: 'CaseOpened' }])
  other.rates.appended([{ type: 'WebhookDelivered' }, { type: 'WebhookDeliveryFailed' }, { type: 'NotificationSent' }])
  one.clock.at = later(65)
  one.rates.appended([{ type: 'NotificationFailed' }])
  await one.store()
  await other.store()
  const rates = await readRates(pool, later(70))
  expect(rates).toHaveLength(60)
  expect(rates[0]).toMatchObject({ minute: later(-58 * 60).toISOString(), ...none })
  expect(rates.slice(-2)).toEqual([
    {
      minute: start.toISOString(),
      requests: 5,
      errors: 1,
      p50_ms: 5,
      p99_ms: 30_000,
      assessments: 1,
      assessments_failed: 1,
      deliveries: 1,
      deliveries_failed: 1,
      notifications: 1,
      notifications_failed: 0,
    },
    expect.objectContaining({ minute: later(60).toISOString(), ...none, notifications_failed: 1 }),
  ])
})

it('a minute that is stored again replaces what was stored, also after its end', async () => {
  const process = processAt(50)
  process.rates.request(answered(1))
  await process.store()
  process.rates.request(answered(1))
  process.clock.at = later(61)
  await process.store()
  await process.store()
  expect((await readRates(pool, later(61))).slice(-2)).toMatchObject([{ requests: 2 }, { requests: 0 }])
  process.clock.at = later(190)
  await process.store()
  expect(process.rates.minutes()).toEqual([])
})

it('keeps an hour while nothing can be stored', () => {
  const { clock, rates } = processAt(0)
  for (let minute = 0; minute < 200; minute += 1) {
    clock.at = later(minute * 60)
    rates.request(answered(1))
  }
  expect(rates.minutes()).toHaveLength(60)
})

it('counts in the present minute after the clock was set back', async () => {
  const process = processAt(3_600)
  process.rates.request(answered(1))
  process.clock.at = later(5)
  process.rates.request(answered(1))
  await process.store()
  expect((await readRates(pool, later(5))).at(-1)).toMatchObject({ minute: start.toISOString(), requests: 1 })
  expect(process.rates.minutes()).toHaveLength(1)
})

it('removes minutes that nobody sees any more', async () => {
  const process = processAt(-3 * 3_600)
  process.rates.request(answered(1))
  await process.store()
  expect((await pool.query('select from runtime.rates')).rowCount).toBe(0)
})

it.each([
  [[0, 0, 0], null],
  [[1, 0, 0], 1],
  [[98, 1, 1], 2],
  [[97, 0, 3], 5],
])('the latency that 99 of 100 do not exceed in %j is %j', (latencies, limit) => {
  expect(latencyAt(latencies, 0.99)).toBe(limit)
})

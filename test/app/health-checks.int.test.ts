import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { addHealthChecks, objectStoreCheck, sealingCheck } from '../../app/health-checks.ts'
import { readAttendance } from '../../app/projections/attendance.ts'
import { knownProjectors } from '../../app/projections/known-projectors.ts'
import { createPool, type Pool } from '../../platform/database/database.ts'
import type { Profile } from '../../platform/kit/profiles.ts'
import { createHealth } from '../../platform/observability/health.ts'
import { ensureRuntimeSchema } from '../../engine/projections/schema.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { openEventStore, type EventStore } from '../../engine/store/event-store.ts'
import { fixedKeys } from '../golden-events/golden-file.ts'
import { hostedEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { freshDatabase, type FreshDatabase } from '../support/postgres.ts'

let node: TestEventStore
let store: EventStore
let database: FreshDatabase
let pool: Pool
beforeAll(async () => {
  ;[node, database] = await Promise.all([hostedEventStore(), freshDatabase()])
  store = await openEventStore({ url: node.url, catalogue, vault: fixedKeys })
  pool = createPool({ url: database.url, max: 4 })
  await ensureRuntimeSchema(pool)
})
afterAll(async () => {
  await pool.end()
  await Promise.all([database.drop(), store.close()])
  await node.stop()
})

beforeEach(async () => {
  await pool.query('delete from runtime.projectors')
  for (const { name, version } of knownProjectors)
    await pool.query(
      `insert into runtime.projectors (name, version, shape, commit_position, prepare_position, status, heartbeat_at, updated_at)
       values ($1, $2, '[]', 0, 0, 'running', clock_timestamp(), clock_timestamp() - interval '1 day')`,
      [name, version],
    )
})

const inState = (channel: string, state: string) => ({ status: () => ({ channel, state }) })

/** The report of a process that runs no projector. */
async function report(changed: Partial<Parameters<typeof addHealthChecks>[1]> = {}, profile: Profile = 'development') {
  const health = createHealth({ profile })
  addHealthChecks(health, {
    host: '127.0.0.1',
    endings: undefined,
    pool,
    store,
    runner: undefined,
    attendance: () => readAttendance(pool),
    served: [],
    areStepsWaiting: () => false,
    relays: [],
    foreignChannels: [],
    provider: undefined,
    sealing: undefined,
    now: () => new Date(),
    runsProcessor: false,
    aiReviewGuards: undefined,
    ...changed,
  })
  return health.report('full')
}

function change(name: string, assignments: string): Promise<unknown> {
  return pool.query(`update runtime.projectors set ${assignments} where name = $1`, [name])
}

test('is ok while other processes run every read model and to-do list', async () => {
  expect(await report()).toMatchObject({ status: 'ok' })
})

test('names what no process runs, and what stopped at an event, although this process runs none of them', async () => {
  await change('patients', `heartbeat_at = clock_timestamp() - interval '11 s'`)
  await change('webhooks_todo', 'heartbeat_at = null')
  await change('cases', `status = 'failed', failed_event_id = gen_random_uuid()`)
  await pool.query(`delete from runtime.projectors where name = 'images'`)
  const { status, checks } = await report()
  expect(status).toBe('failing')
  expect(checks).toContainEqual({
    name: 'projections',
    status: 'failing',
    detail: 'cases stopped at an event; no process runs images, patients, webhooks_todo',
  })
})

test('a copy that has just replaced another one counts as run before its first heartbeat', async () => {
  await change('patients', 'heartbeat_at = null, updated_at = clock_timestamp()')
  expect(await report()).toMatchObject({ status: 'ok' })
})

test('warns where others reach a platform with the rules of development', async () => {
  const check = {
    name: 'profile',
    status: 'warning',
    detail: 'the rules of development, on an address that others reach',
  }
  for (const host of ['0.0.0.0', '::', '192.0.2.7']) {
    expect((await report({ host })).checks).toContainEqual(check)
    expect(await report({ host }, 'production')).toMatchObject({ status: 'ok' })
  }
  expect(await report({ host: '::1' })).toMatchObject({ status: 'ok' })
})

test('contains no name of a channel', async () => {
  const relays = [inState('consent.events', 'blocked'), inState('users.events', 'running')]
  const foreignChannels = [inState('clinic-of-doctor-north', 'blocked'), inState('other', 'running')]
  const { checks } = await report({ relays, foreignChannels })
  expect(checks).toContainEqual({
    name: 'channels',
    status: 'failing',
    detail: 'blocked: 1. The log and relay_state of /metrics name them',
  })
  expect(checks).toContainEqual({
    name: 'foreign_channels',
    status: 'failing',
    detail: 'blocked: 1. The log names them',
  })
  expect(JSON.stringify(checks)).not.toMatch(/consent\.events|doctor/)
})

test('an object store that is away shows in health only, and is asked at most every ten seconds', async () => {
  let [time, asked, isAway] = [0, 0, false]
  const objects = {
    head: async () => {
      asked += 1
      if (isAway) throw new Error('refused')
      return undefined
    },
  }
  const health = createHealth({ profile: 'development' })
  health.register(objectStoreCheck(objects, () => time))
  const statusNow = async () => (await health.report('full')).status
  expect([await statusNow(), await statusNow(), asked]).toEqual(['ok', 'ok', 1])
  isAway = true
  time += 10_000
  expect([await statusNow(), asked]).toEqual(['failing', 2])
  expect((await health.report('ready')).status).toBe('ok')
  isAway = false
  time += 10_000
  expect(await statusNow()).toBe('ok')
})

test('warns when the seals or the signatures of witnesses are ten minutes late, or a witness knows a larger log', async () => {
  const since = new Date('2026-03-01T10:00:00.000Z')
  const quiet = { failingSince: undefined, quorumMissingSince: undefined, ahead: [] }
  const resultAt = (changed: object, seconds: number) =>
    sealingCheck({ status: () => ({ ...quiet, ...changed }) }, () => new Date(since.getTime() + seconds * 1000)).run()
  expect(await resultAt({}, 0)).toEqual({ status: 'ok' })
  for (const [changed, detail] of [
    [{ failingSince: since }, 'the log is not sealed since 2026-03-01T10:00:00.000Z'],
    [{ quorumMissingSince: since }, 'too few witnesses have signed since 2026-03-01T10:00:00.000Z'],
  ] as const) {
    expect(await resultAt(changed, 599)).toEqual({ status: 'ok' })
    expect(await resultAt(changed, 600)).toEqual({ status: 'warning', detail })
  }
  expect(await resultAt({ ahead: ['w1.example'] }, 0)).toMatchObject({
    status: 'warning',
    detail: expect.stringContaining('witness-ahead: 1 witnesses signed a larger log'),
  })
})

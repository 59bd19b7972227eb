import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Pool } from '../../../platform/database/database.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { createClaimsPool } from '../../../engine/processes/claims-pool.ts'
import { bindProcess, type ConcurrencyLimits, type StepOutcome } from '../../../engine/processes/process.ts'
import { Workers } from '../../../engine/processes/workers.ts'
import { closed, emptyDatabase, filter, say, silentLogger } from '../projections/tickets.ts'
import { openTicketWorld, type TicketWorld } from '../projections/ticket-world.ts'
import { errands, type ErrandDeps } from './errands.ts'
import { farewells } from './farewells.ts'
import { eventually } from '../../support/eventually.ts'

let world: TicketWorld
/** Only the workers use it, so their queries can be counted. */
let workersPool: Pool
let runner: ProjectionRunner
let workers: Workers
let hanging: PromiseWithResolvers<void>
let calls: string[]
let said: string[]
let queries = 0
let now: Date

beforeAll(async () => {
  world = await openTicketWorld({ connections: 8 })
  workersPool = createClaimsPool({ url: world.database.url, max: 8 })
  workersPool.on('acquire', () => {
    queries += 1
  })
})
afterAll(async () => {
  await workersPool.end()
  await world.close()
})
beforeEach(async () => {
  await emptyDatabase(world.pool)
  runner = new ProjectionRunner({
    eventStore: world.store,
    pool: world.pool,
    projectors: [errands.list, farewells.list],
    filter,
    logger: silentLogger,
    heartbeatMs: 50,
  })
  runner.start()
  await runner.caughtUp()
  hanging = Promise.withResolvers<void>()
  calls = []
  said = []
  now = new Date('2030-01-01T00:00:00.000Z')
})
afterEach(async () => {
  hanging.resolve()
  await workers.close(200)
  await runner.close()
})

let nextBye = 0

/** Inserts so many due errands of a team, which is their concurrency key. Returns their row keys. */
async function dueFor(team: string, count: number): Promise<string[]> {
  const { rows } = await world.pool.query<{ key: string }>(
    `insert into errand_list.todo (key, step, due_at, payload, lane)
     select $1 || '-' || n, 'run', '2029-12-31T00:00:00Z', '{}', $1 from generate_series(1, $2::integer) n returning key`,
    [team, count],
  )
  return rows.map(({ key }) => key)
}

/** Makes work for the other process. */
async function sayBye(): Promise<string> {
  nextBye += 1
  await say(world.store, `ticket-bye${nextBye}`, closed(`bye${nextBye}`))
  return `bye${nextBye}`
}

function start(
  run: (key: string, ...rest: Parameters<ErrandDeps['run']>) => Promise<StepOutcome>,
  limits: Partial<ConcurrencyLimits> = {},
): void {
  const deps: ErrandDeps = {
    limits: { workers: 8, perKey: 4, stepTimeoutMs: 55_000, ...limits },
    run: (todo, context) => {
      calls.push(todo.key)
      return run(todo.key, todo, context)
    },
  }
  const processes = [
    bindProcess(errands, deps),
    bindProcess(farewells, {
      onStep: ({ key }) => {
        said.push(key)
      },
    }),
  ]
  workers = new Workers({
    eventStore: world.store,
    pool: workersPool,
    processes,
    filter,
    logger: silentLogger,
    runner,
    now: () => now,
    random: () => 0.5,
    workers: 2,
    pollMs: 60_000,
  })
  workers.start()
}

/** The row is not due again during the test. */
async function delivered(): Promise<StepOutcome> {
  return { kind: 'retry', after: 3_600_000, reason: 'done' }
}
async function hung(): Promise<StepOutcome> {
  await hanging.promise
  return { kind: 'done', health: 'unreachable' }
}
const callsOf = (team: string) => calls.filter((key) => key.startsWith(`${team}-`))

it('a receiver that hangs holds up no other receiver and no other process', async () => {
  await dueFor('hang', 20)
  const wanted = (await Promise.all(['a', 'b', 'c'].map((team) => dueFor(team, 20)))).flat()
  start((key) => (key.startsWith('hang-') ? hung() : delivered()))
  await eventually(() => expect(calls.filter((key) => !key.startsWith('hang-')).toSorted()).toEqual(wanted.toSorted()))
  expect(callsOf('hang')).toHaveLength(2)
  const bye = await sayBye()
  await eventually(() => expect(said).toContain(bye))
  expect(callsOf('hang')).toHaveLength(2)
})

it('receivers that all hang take no workers of other processes', async () => {
  await Promise.all(Array.from({ length: 8 }, (_, index) => dueFor(`hang${index}`, 2)))
  start(() => hung())
  await eventually(() => expect(calls).toHaveLength(8))
  const bye = await sayBye()
  await eventually(() => expect(said).toContain(bye))
  expect(calls).toHaveLength(8)
})

it('a receiver gets one more worker with each healthy step, up to its limit', async () => {
  await dueFor('a', 12)
  const gates: (() => void)[] = []
  let inHand = 0
  start(async () => {
    const gate = Promise.withResolvers<void>()
    gates.push(gate.resolve)
    inHand += 1
    await gate.promise
    inHand -= 1
    return { kind: 'done', health: 'good' }
  })
  for (const [ended, expected] of [2, 3, 4, 4, 4].entries()) {
    await eventually(() => expect([gates.length, inHand]).toEqual([ended + expected, expected]))
    gates[ended]?.()
  }
  await eventually(() => {
    for (const open of gates) open()
    expect([new Set(calls).size, inHand]).toEqual([12, 0])
  })
})

it('an unreachable receiver pauses without further queries, then gets one step', async () => {
  await dueFor('dead', 10)
  let health: 'unreachable' | 'good' = 'unreachable'
  start(async () => ({ kind: 'done', health }))
  await eventually(() => expect(calls).toHaveLength(3))
  const before = queries
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(calls).toHaveLength(3)
  // The queries after the end of the last step, but none that repeat.
  expect(queries - before).toBeLessThan(10)
  now = new Date(now.getTime() + 5_000)
  health = 'good'
  const wanted = await dueFor('a', 1)
  workers.wake()
  await eventually(() => expect(calls).toEqual(expect.arrayContaining(wanted)))
  await eventually(() => expect(new Set(callsOf('dead')).size).toBe(10))
})

it('the steps of a process with receivers have a time limit and a lease of their own', async () => {
  await dueFor('a', 1)
  const leases: string[] = []
  start(
    async (_key, _todo, { leaseUntil, signal }) => {
      leases.push(leaseUntil)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return { kind: 'retry', after: 3_600_000, reason: 'done' }
    },
    { stepTimeoutMs: 30 },
  )
  await eventually(() => expect(leases).toHaveLength(1))
  // It is 5 s longer than the time limit, as the lease of every step.
  expect(leases).toEqual(['2030-01-01T00:00:05.030Z'])
})

it('no lease is longer than a minute', async () => {
  await dueFor('a', 1)
  const leases: string[] = []
  start(
    async (_key, _todo, { leaseUntil }) => {
      leases.push(leaseUntil)
      return delivered()
    },
    { stepTimeoutMs: 59_000 },
  )
  await eventually(() => expect(leases).toEqual(['2030-01-01T00:01:00.000Z']))
})

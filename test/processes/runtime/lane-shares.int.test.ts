import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import type { Pool } from '../../../platform/database/database.ts'
import { createProjectionRunner, type ProjectionRunner } from '../../../projections/runtime/runner.ts'
import { createClaimsPool } from '../../../processes/runtime/claims-pool.ts'
import { bindProcess } from '../../../processes/runtime/bound-process.ts'
import type { LaneBudget, StepOutcome } from '../../../processes/runtime/process.ts'
import { createWorkers, type Workers } from '../../../processes/runtime/workers.ts'
import { closed, emptyDatabase, filter, say, silentLogger } from '../../projections/runtime/tickets.ts'
import { openTicketWorld, type TicketWorld } from '../../projections/runtime/ticket-world.ts'
import { errands, type ErrandDeps } from './errands.ts'
import { farewells } from './farewells.ts'

let world: TicketWorld
/** The workers' own, so that what they ask can be counted. */
let workersPool: Pool
let runner: ProjectionRunner
let workers: Workers
let hanging: PromiseWithResolvers<void>
let calls: string[]
let said: string[]
let asked = 0
let now: Date

beforeAll(async () => {
  world = await openTicketWorld({ connections: 8 })
  workersPool = createClaimsPool({ url: world.database.url, max: 8 })
  workersPool.on('acquire', () => {
    asked += 1
  })
})
afterAll(async () => {
  await workersPool.end()
  await world.close()
})
beforeEach(async () => {
  await emptyDatabase(world.pool)
  runner = createProjectionRunner({
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

/** So many errands of a lane that are due; their keys. */
async function dueIn(lane: string, count: number): Promise<string[]> {
  const { rows } = await world.pool.query<{ key: string }>(
    `insert into errand_list.todo (key, step, due_at, payload, lane)
     select $1 || '-' || n, 'run', '2029-12-31T00:00:00Z', '{}', $1 from generate_series(1, $2::integer) n returning key`,
    [lane, count],
  )
  return rows.map(({ key }) => key)
}

/** Work for the other process, which tells of it. */
async function sayBye(): Promise<string> {
  nextBye += 1
  await say(world.store, `ticket-bye${nextBye}`, closed(`bye${nextBye}`))
  return `bye${nextBye}`
}

function start(
  run: (key: string, ...rest: Parameters<ErrandDeps['run']>) => Promise<StepOutcome>,
  budget: Partial<LaneBudget> = {},
): void {
  const deps: ErrandDeps = {
    budget: { slots: 8, perLane: 4, stepTimeoutMs: 55_000, ...budget },
    run: (todo, context) => {
      calls.push(todo.key)
      return run(todo.key, todo, context)
    },
  }
  const processes = [
    bindProcess(errands, deps),
    bindProcess(farewells, {
      told: ({ key }) => {
        said.push(key)
      },
    }),
  ]
  workers = createWorkers({
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

/** Done, by word of the receiver; the row is gone for the rest of the test. */
async function delivered(): Promise<StepOutcome> {
  return { kind: 'retry', after: 3_600_000, reason: 'done' }
}
async function hung(): Promise<StepOutcome> {
  await hanging.promise
  return { kind: 'done', health: 'unreachable' }
}
const callsOf = (lane: string) => calls.filter((key) => key.startsWith(`${lane}-`))
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 15_000, interval: 10 })

it('a lane that hangs holds up no other, nor any other process', async () => {
  await dueIn('hang', 20)
  const wanted = (await Promise.all(['a', 'b', 'c'].map((lane) => dueIn(lane, 20)))).flat()
  start((key) => (key.startsWith('hang-') ? hung() : delivered()))
  await eventually(() => expect(calls.filter((key) => !key.startsWith('hang-')).toSorted()).toEqual(wanted.toSorted()))
  expect(callsOf('hang')).toHaveLength(2)
  const bye = await sayBye()
  await eventually(() => expect(said).toContain(bye))
  expect(callsOf('hang')).toHaveLength(2)
}, 30_000)

it('lanes that hang one and all leave the workers of other processes alone', async () => {
  await Promise.all(Array.from({ length: 8 }, (_, index) => dueIn(`hang${index}`, 2)))
  start(() => hung())
  await eventually(() => expect(calls).toHaveLength(8))
  const bye = await sayBye()
  await eventually(() => expect(said).toContain(bye))
  expect(calls).toHaveLength(8)
}, 30_000)

it('a lane gets more workers with each step that goes well, up to its own number', async () => {
  await dueIn('a', 12)
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
}, 30_000)

it('a lane whose receiver cannot be reached pauses, is asked after no more, and tried with one step', async () => {
  await dueIn('dead', 10)
  let health: 'unreachable' | 'good' = 'unreachable'
  start(async () => ({ kind: 'done', health }))
  await eventually(() => expect(calls).toHaveLength(3))
  const before = asked
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(calls).toHaveLength(3)
  // What the last step's end still asks, and nothing again and again.
  expect(asked - before).toBeLessThan(10)
  now = new Date(now.getTime() + 5_000)
  health = 'good'
  const wanted = await dueIn('a', 1)
  workers.wake()
  await eventually(() => expect(calls).toEqual(expect.arrayContaining(wanted)))
  await eventually(() => expect(new Set(callsOf('dead')).size).toBe(10))
}, 30_000)

it('its steps have a time limit and a lease of their own', async () => {
  await dueIn('a', 1)
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
  // As much longer than the time limit as the lease of every step.
  expect(leases).toEqual(['2030-01-01T00:00:05.030Z'])
}, 20_000)

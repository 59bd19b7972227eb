import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { bindProcess, type StepContext } from '../../../engine/processes/process.ts'
import { Workers } from '../../../engine/processes/workers.ts'
import type { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { emptyDatabase, filter, opened, say, silentLogger } from '../projections/tickets.ts'
import { openTicketWorld, type TicketWorld } from '../projections/ticket-world.ts'
import { reminders, startList } from './reminders.ts'
import { eventually } from '../../support/eventually.ts'

const begunAt = Date.parse('2030-01-01T00:00:00.000Z')

let world: TicketWorld
let runner: ProjectionRunner

beforeAll(async () => {
  world = await openTicketWorld({ connections: 12 })
})
afterAll(() => world.close())
afterEach(async () => {
  await runner.close()
  await emptyDatabase(world.pool)
})

/**
 * Runs a step whose claim waits for the database for so long, by the clock of the workers. Its lease is 60 s, its time
 * limit 55 s.
 */
async function claimedFor(ms: number, act: (context: StepContext) => Promise<void>): Promise<void> {
  const { store, pool } = world
  const key = `slow-${ms}`
  runner = await startList(world)
  await say(store, `ticket-${key}`, opened(key, 'at 2029-12-31T00:00:00.000Z'))
  await eventually(async () => expect((await pool.query('select from reminder_list.todo')).rowCount).toBe(1))
  let at = begunAt
  const deps = { store, calls: [], act: (_todo: unknown, context: StepContext) => act(context).then(() => undefined) }
  const times = { now: () => new Date(at), pollMs: 20, stepTimeoutMs: 55_000, stepLeaseMs: 60_000 }
  const workers = new Workers({
    eventStore: store,
    pool,
    processes: [bindProcess(reminders, deps)],
    filter,
    logger: silentLogger,
    runner,
    ...times,
  })
  try {
    await inTransaction(pool, async (client) => {
      await client.query('lock table runtime.claims in access exclusive mode')
      workers.start()
      const waiting = `select from pg_locks where relation = 'runtime.claims'::regclass and not granted`
      await eventually(async () => expect((await client.query(waiting)).rowCount).toBeGreaterThan(0))
      at += ms
    })
    await eventually(async () => expect((await store.readLast(`ticket-${key}`))?.type).toBe('TicketRenamed'))
  } finally {
    await workers.close(200)
  }
}

describe('a step whose claim waited for the database', () => {
  it('has only the time that its lease has left', async () => {
    const reasons: unknown[] = []
    await claimedFor(56_000, async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      reasons.push((signal.reason as Error).name)
    })
    expect(reasons).toEqual(['TimeoutError'])
  })

  it('is claimed again if its lease has almost ended', async () => {
    const leases: string[] = []
    await claimedFor(58_000, async ({ leaseUntil }) => void leases.push(leaseUntil))
    expect(leases).toEqual([new Date(begunAt + 58_000 + 60_000).toISOString()])
  })
})

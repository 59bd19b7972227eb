import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { bindProcess, type StepContext } from '../../../engine/processes/process.ts'
import { Workers } from '../../../engine/processes/workers.ts'
import type { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { emptyDatabase, filter, opened, renamed, say, silentLogger } from '../projections/tickets.ts'
import { openTicketWorld, type TicketWorld } from '../projections/ticket-world.ts'
import { reminders, startList } from './reminders.ts'
import { eventually } from '../../support/eventually.ts'

const begunAt = Date.parse('2030-01-01T00:00:00.000Z')

let world: TicketWorld
let runner: ProjectionRunner
let workers: Workers
/** The clock of the workers. */
let at: number

beforeAll(async () => {
  world = await openTicketWorld({ connections: 12 })
})
afterAll(() => world.close())
afterEach(async () => {
  await workers.close(200)
  await runner.close()
  await emptyDatabase(world.pool)
})

type Act = (context: StepContext) => Promise<void>

/** The claim of a row waits for the database until something has happened. Its lease is 60 s, its time limit 55 s. */
async function claimSlowly(key: string, act: Act, meanwhile: () => void): Promise<void> {
  const { store, pool } = world
  at = begunAt
  runner = await startList(world)
  await say(store, `ticket-${key}`, opened(key, 'at 2029-12-31T00:00:00.000Z'))
  await eventually(async () => expect((await pool.query('select from reminder_list.todo')).rowCount).toBe(1))
  const deps = { store, calls: [], act: (_todo: unknown, context: StepContext) => act(context).then(() => undefined) }
  const times = { now: () => new Date(at), pollMs: 20, stepTimeoutMs: 55_000, stepLeaseMs: 60_000 }
  workers = new Workers({
    eventStore: store,
    pool,
    processes: [bindProcess(reminders, deps)],
    filter,
    logger: silentLogger,
    runner,
    ...times,
  })
  await inTransaction(pool, async (client) => {
    await client.query('lock table runtime.claims in access exclusive mode')
    workers.start()
    const waiting = `select from pg_locks where relation = 'runtime.claims'::regclass and not granted`
    await eventually(async () => expect((await client.query(waiting)).rowCount).toBeGreaterThan(0))
    meanwhile()
  })
}

/** Runs a step whose claim waits for the database for so long, by the clock of the workers. */
async function claimedFor(ms: number, act: Act): Promise<void> {
  const key = `slow-${ms}`
  await claimSlowly(key, act, () => void (at += ms))
  await eventually(async () => expect((await world.store.readLast(`ticket-${key}`))?.type).toBe('TicketRenamed'))
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

  it('does not begin if the workers stop meanwhile, and its row is given back', async () => {
    const act = vi.fn<Act>(async () => undefined)
    let closed: Promise<void> | undefined
    await claimSlowly('stopped', act, () => void (closed = workers.close(200)))
    await closed
    expect(act).not.toHaveBeenCalled()
    const claims = await world.pool.query(`select key, lease_until = '-infinity' as is_free from runtime.claims`)
    expect(claims.rows).toEqual([{ key: 'stopped', is_free: true }])
    await say(world.store, 'ticket-stopped', renamed('stopped', 'over'))
  })
})

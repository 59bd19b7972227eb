import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Pool } from '../../../platform/database/database.ts'
import { createClaimsPool } from '../../../engine/processes/claims-pool.ts'
import { bindProcess, type StepOutcome } from '../../../engine/processes/process.ts'
import { Workers } from '../../../engine/processes/workers.ts'
import type { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { emptyDatabase, filter, opened, renamed, say, silentLogger, ticketFold } from '../projections/tickets.ts'
import { openTicketWorld, type TicketWorld } from '../projections/ticket-world.ts'
import { reminders, startList } from './reminders.ts'
import { eventually } from '../../support/eventually.ts'

const begunAt = Date.parse('2030-01-01T00:00:00.000Z')
const times = { stepTimeoutMs: 55_000, stepLeaseMs: 60_000 }

let world: TicketWorld
let claimsPool: Pool
let runner: ProjectionRunner
let workers: Workers
let ticket: string
/** By the workers' clock. */
let at: number

beforeAll(async () => {
  world = await openTicketWorld({ connections: 8 })
  claimsPool = createClaimsPool({ url: world.database.url })
})
afterAll(async () => {
  await claimsPool.end()
  await world.close()
})
beforeEach(() => {
  at = begunAt
})
afterEach(async () => {
  // An unfinished ticket would be on the next list, too.
  const { revision } = await world.store.load({ fold: ticketFold, stream: `ticket-${ticket}` })
  if (revision === 0n) await say(world.store, `ticket-${ticket}`, renamed(ticket, 'over'))
  await workers.close(200)
  await runner.close()
  await emptyDatabase(world.pool)
})

/**
 * Runs the step of one row, from the second run on without its list. `act` decides how each run ends. Returns the
 * leases of the runs.
 */
async function leasesOf(
  key: string,
  act: (run: number) => StepOutcome | undefined | Promise<StepOutcome | undefined>,
): Promise<string[]> {
  const { store, pool } = world
  ticket = key
  const leases: string[] = []
  runner = await startList(world)
  const { position } = await say(store, `ticket-${key}`, opened(key, 'at 2029-12-31T00:00:00.000Z'))
  await eventually(async () => expect((await pool.query('select from reminder_list.todo')).rowCount).toBe(1))
  const deps = {
    store,
    calls: [],
    act: async (_todo: unknown, { leaseUntil }: { readonly leaseUntil: string }, run: number) => {
      leases.push(leaseUntil)
      // The list does not advance past the append of a run.
      await runner.close()
      const outcome = await act(run)
      return outcome?.kind === 'done'
        ? { position: { commit: position.commit + 1_000n, prepare: position.prepare + 1_000n }, ...outcome }
        : outcome
    },
  }
  workers = new Workers({
    eventStore: store,
    pool: claimsPool,
    processes: [bindProcess(reminders, deps)],
    filter,
    logger: silentLogger,
    runner,
    now: () => new Date(at),
    pollMs: 20,
    ...times,
  })
  workers.start()
  return leases
}

const continues: StepOutcome = { kind: 'done', continues: true }
const isRenamed = (key: string) =>
  eventually(async () => expect((await world.store.readLast(`ticket-${key}`))?.type).toBe('TicketRenamed'))
const claims = async () =>
  (
    await world.pool.query<{ worker: string; lease_until: Date | number }>(
      'select worker, lease_until from runtime.claims',
    )
  ).rows
const later = (ms: number) => new Date(begunAt + ms)

it('a step that continues runs again at once, under the same lease, although its list does not advance', async () => {
  const leases = await leasesOf('on', (run) => {
    at += 1_000
    return run < 3 ? continues : undefined
  })
  await isRenamed('on')
  expect(leases).toEqual(Array.from({ length: 3 }, () => later(60_000).toISOString()))
})

it('a step that continues extends a lease that has less left than the time limit', async () => {
  const kept: unknown[] = []
  const leases = await leasesOf('long', async (run) => {
    kept.push((await claims())[0]?.lease_until)
    at += run === 1 ? 50_000 : 0
    return run === 1 ? continues : undefined
  })
  await isRenamed('long')
  expect(leases).toEqual([later(60_000).toISOString(), later(110_000).toISOString()])
  expect(kept).toEqual([later(60_000), later(110_000)])
})

it('a step does not continue if another worker has taken over its claim', async () => {
  const taken = Promise.withResolvers<void>()
  const leases = await leasesOf('lost', async (run) => {
    if (run > 1) return undefined
    at += 58_000
    await world.pool.query(`update runtime.claims set worker = 'another', lease_until = $1`, [later(118_000)])
    taken.resolve()
    return continues
  })
  await taken.promise
  await new Promise((resolve) => setTimeout(resolve, 300))
  await workers.close()
  expect(leases).toHaveLength(1)
  expect(await claims()).toEqual([{ worker: 'another', lease_until: later(118_000) }])
})

it('a step does not continue if the workers stop, and its row is given back', async () => {
  const closed = Promise.withResolvers<void>()
  const leases = await leasesOf('stop', (run) => {
    if (run > 1) return undefined
    void workers.close(5_000).then(closed.resolve)
    return continues
  })
  await closed.promise
  expect(leases).toHaveLength(1)
  expect(await claims()).toMatchObject([{ lease_until: Number.NEGATIVE_INFINITY }])
})

it('a step does not continue if the workers stop while its lease is extended, and its row is given back', async () => {
  const other = await world.pool.connect()
  const leases = await leasesOf('halt', async (run) => {
    if (run > 1) return undefined
    await other.query('begin')
    await other.query('select from runtime.claims for update')
    at += 50_000
    return continues
  })
  const prolonging = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like 'update runtime.claims set lease_until%'`
  await eventually(async () => expect((await world.pool.query(prolonging)).rowCount).toBe(1))
  const closed = workers.close(5_000)
  await other.query('commit')
  other.release()
  await closed
  expect(leases).toHaveLength(1)
  expect(await claims()).toMatchObject([{ lease_until: Number.NEGATIVE_INFINITY }])
})

describe('errors before a run that continued no longer count', () => {
  const freeClaims = async () =>
    (
      await world.pool.query<{ failures: number }>(
        `select failures from runtime.claims where lease_until = '-infinity'`,
      )
    ).rows

  it.each([
    ['when a later run throws', 1, () => Promise.reject(new Error('of these tests'))],
    ['when a later run waits', 0, () => ({ kind: 'wait', until: new Date(at + 600_000) })],
  ] satisfies [string, number, () => StepOutcome | Promise<StepOutcome>][])('%s', async (_to, failures, last) => {
    await leasesOf(`past-${failures}`, (run) => {
      if (run <= 2) throw new Error('of these tests')
      return run === 3 ? continues : last()
    })
    for (const thrown of [1, 2]) {
      await eventually(async () => expect(await freeClaims()).toEqual([{ failures: thrown }]))
      at += 60_000
    }
    await eventually(async () => expect(await freeClaims()).toEqual([{ failures }]))
  })
})

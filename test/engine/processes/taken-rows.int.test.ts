import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi, type MockInstance } from 'vitest'
import type { Pool } from '../../../platform/database/database.ts'
import { bindProcess } from '../../../engine/processes/process.ts'
import { createClaimsPool } from '../../../engine/processes/claims-pool.ts'
import { Claims } from '../../../engine/processes/claims.ts'
import { Workers } from '../../../engine/processes/workers.ts'
import type { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { emptyDatabase, filter, opened, renamed, say, silentLogger, ticketFold } from '../projections/tickets.ts'
import { openTicketWorld, type TicketWorld } from '../projections/ticket-world.ts'
import { reminders, startList, type ReminderDeps } from './reminders.ts'
import { eventually } from '../../support/eventually.ts'

let world: TicketWorld
let claimsPool: Pool
let runner: ProjectionRunner
let workers: Workers
let queries: MockInstance<Pool['query']>
let areOthers: boolean
let calls: string[]
let release: () => void
let act: ReminderDeps['act']

beforeAll(async () => {
  world = await openTicketWorld({ connections: 8 })
  claimsPool = createClaimsPool({ url: world.database.url })
})
afterAll(async () => {
  await claimsPool.end()
  await world.close()
})
beforeEach(async () => {
  areOthers = false
  calls = []
  const released = Promise.withResolvers<void>()
  release = released.resolve
  act = async () => {
    await released.promise
    return undefined
  }
  runner = await startList(world)
  const listeners = Object.assign(Object.create(null), {
    mayBeOthers: () => areOthers,
    saidHello() {},
    heard() {},
    lost() {},
  })
  const deps: ReminderDeps = { store: world.store, calls, act: (...given) => act(...given) }
  workers = new Workers({
    eventStore: world.store,
    pool: claimsPool,
    processes: [bindProcess(reminders, deps)],
    filter,
    logger: silentLogger,
    runner,
    listeners,
    pollMs: 60_000,
  })
  workers.start()
  queries = vi.spyOn(claimsPool, 'query')
  await eventually(() => expect(sentClaims()).toBeGreaterThan(0))
  // The first batch of a runner is several statements.
  const { position } = await say(world.store, `ticket-${randomUUID()}`, renamed('nobody', 'over'))
  await eventually(() => expect(runner.status()[0]?.position?.commit).toBeGreaterThanOrEqual(position.commit))
  // The worker is idle: it has read that nothing is due.
  await eventually(() => expect(sent('next_ms')).toBeGreaterThan(0))
  queries.mockClear()
})
afterEach(async () => {
  release()
  await workers.close(200)
  queries.mockRestore()
  // An unfinished ticket would be on the next list, too.
  for (const key of keys.splice(0)) {
    const { revision } = await world.store.load({ fold: ticketFold, stream: `ticket-${key}` })
    if (revision === 0n) await say(world.store, `ticket-${key}`, renamed(key, 'over'))
  }
  await runner.close()
  await emptyDatabase(world.pool)
})

const sent = (text: string) => queries.mock.calls.filter(([query]) => JSON.stringify(query).includes(text)).length
const sentClaims = () => sent('with recursive list')
const claims = async () =>
  (
    await world.pool.query<{ key: string; is_held: boolean }>(
      'select key, lease_until > now() as is_held from runtime.claims',
    )
  ).rows

/** Lets something happen to the next statement that claims the rows that it writes. */
function atTheClaim(happens: (write: () => Promise<unknown>) => Promise<unknown>): void {
  const { pool } = world
  const send = pool.query.bind(pool)
  function query(...given: unknown[]): unknown {
    const write = (): Promise<unknown> => Reflect.apply(send, undefined, given)
    if (!JSON.stringify(given).includes('insert into runtime.claims')) return write()
    Reflect.deleteProperty(pool, 'query')
    return happens(write)
  }
  Object.assign(pool, { query })
}

const keys: string[] = []

async function open(key: string = randomUUID()): Promise<string> {
  keys.push(key)
  await say(world.store, `ticket-${key}`, opened(key))
  return key
}

describe('a row that is due when it is written', () => {
  it('is claimed by the statement that writes it, and its step runs without another one', async () => {
    // Meanwhile no statement of the worker is sent.
    const sending = Promise.withResolvers<void>()
    queries.mockRestore()
    const send = claimsPool.query.bind(claimsPool)
    const later = (...given: unknown[]): unknown => sending.promise.then(() => Reflect.apply(send, undefined, given))
    queries = vi.spyOn(claimsPool, 'query').mockImplementation(later)
    const key = await open()
    await eventually(() => expect(calls).toEqual([key]))
    expect(await claims()).toEqual([{ key, is_held: true }])
    sending.resolve()
    release()
    await eventually(async () => expect((await world.pool.query('select from reminder_list.todo')).rowCount).toBe(0))
    expect(calls).toEqual([key])
  })

  it('is left to all instances if another one listens', async () => {
    areOthers = true
    release()
    const key = await open()
    await eventually(() => expect(calls).toEqual([key]))
    expect(sentClaims()).toBeGreaterThan(0)
  })

  it('is left to the claim that another worker has of it', async () => {
    const key = randomUUID()
    await world.pool.query(
      `insert into runtime.claims (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures)
       values ('reminders', $1, 'rename', 'another', now() + interval '1 minute', '-infinity', 0, 0, 0)`,
      [key],
    )
    release()
    await open(key)
    await eventually(() => expect(sentClaims()).toBeGreaterThan(0))
    expect(calls).toEqual([])
    await world.pool.query('update runtime.claims set lease_until = now()')
    workers.wake()
    await eventually(() => expect(calls).toEqual([key]))
  })

  it('is worked off by a claim if the answer of the statement is lost', async () => {
    release()
    atTheClaim(async (write) => {
      await write()
      throw new Error('Connection terminated unexpectedly')
    })
    const key = await open()
    await eventually(() => expect(calls).toEqual([key]))
    expect(sentClaims()).toBeGreaterThan(0)
  })

  it('keeps the claim of its running step if the statement is sent again', async () => {
    atTheClaim(async (write) => {
      await write()
      throw new Error('Connection terminated unexpectedly')
    })
    const key = await open()
    await eventually(() => expect(calls).toEqual([key]))
    // This is written after the statement that is sent again.
    const { position } = await say(world.store, `ticket-${randomUUID()}`, renamed('nobody', 'over'))
    await eventually(() => expect(runner.status()[0]?.position?.commit).toBeGreaterThanOrEqual(position.commit))
    workers.wake()
    const asked = sentClaims()
    await eventually(() => expect(sentClaims()).toBeGreaterThan(asked))
    expect([calls, await claims()]).toEqual([[key], [{ key, is_held: true }]])
    // Once for the answer that was lost, and not again while the step runs: another worker could claim the row then.
    expect(sent('update runtime.claims c set')).toBe(1)
  })

  it('is given back at once if the workers stop meanwhile', async () => {
    const writing = Promise.withResolvers<void>()
    atTheClaim(async (write) => {
      writing.resolve()
      await sleep(100)
      return write()
    })
    const key = await open()
    await writing.promise
    await workers.close(200)
    expect([calls, await claims()]).toEqual([[], [{ key, is_held: false }]])
    const others = new Claims(claimsPool, reminders, { id: 'other' })
    const soon = new Date(Date.now() + 10_000)
    expect((await others.claim(1, new Date(), soon)).map(({ todo }) => todo.key)).toEqual([key])
  })
})

describe('the claims of rows that are done', () => {
  it('are given back together', async () => {
    const opening = await Promise.all([open(), open(), open()])
    await eventually(() => expect(calls.toSorted()).toEqual(opening.toSorted()))
    release()
    await workers.close(2_000)
    expect(await claims()).toHaveLength(3)
    expect((await claims()).some(({ is_held: isHeld }) => isHeld)).toBe(false)
    expect(sent('update runtime.claims c set')).toBe(1)
  })
})

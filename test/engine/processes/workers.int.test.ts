import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Pool } from '../../../platform/database/database.ts'
import { AdvisoryLocks } from '../../../platform/database/advisory-locks.ts'
import type { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { bindProcess } from '../../../engine/processes/process.ts'
import { Claims } from '../../../engine/processes/claims.ts'
import { Workers, type WorkersOptions } from '../../../engine/processes/workers.ts'
import { Listeners, notifyWorkers } from '../../../engine/processes/wake-ups.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { emptyDatabase, filter, opened, renamed, say, silentLogger } from '../projections/tickets.ts'
import { openTicketWorld, type TicketWorld } from '../projections/ticket-world.ts'
import { appendRenaming, reminders, startList, type ReminderDeps } from './reminders.ts'
import { eventually } from '../../support/eventually.ts'
import { stopProjector } from '../../support/stopped-projectors.ts'
import { requestResume } from '../../../engine/rebuild/resume.ts'

let world: TicketWorld
let store: EventStore
let pool: Pool
let runner: ProjectionRunner
const running: Workers[] = []

beforeAll(async () => {
  world = await openTicketWorld({ connections: 12 })
  ;({ store, pool } = world)
})
afterAll(() => world.close())
afterEach(async () => {
  await Promise.all(running.splice(0).map((workers) => workers.close(200)))
  await runner.close()
  await emptyDatabase(pool)
})

function dependencies(act: ReminderDeps['act'] = async () => undefined): ReminderDeps {
  return { store, calls: [], act }
}

function startWorkers(deps: ReminderDeps, options: Partial<WorkersOptions> = {}): Workers {
  const processes = [bindProcess(reminders, deps)]
  const workers = new Workers({
    eventStore: store,
    pool,
    processes,
    filter,
    logger: silentLogger,
    pollMs: 200,
    runner,
    ...options,
  })
  running.push(workers)
  workers.start()
  return workers
}

let nextTicket = 0
function fresh(): string {
  nextTicket += 1
  return `w${nextTicket}`
}

async function titleOf(ticket: string): Promise<string | undefined> {
  const last = await store.readLast(`ticket-${ticket}`)
  return last?.type === 'TicketRenamed' ? (last.data as { title: string }).title : undefined
}

async function todos(): Promise<number> {
  const { rows } = await pool.query<{ count: string }>('select count(*) from reminder_list.todo')
  return Number(rows[0]?.count)
}

describe('workers', () => {
  it('work off each due row once', async () => {
    runner = await startList(world)
    const deps = dependencies()
    startWorkers(deps)
    const keys = Array.from({ length: 40 }, fresh)
    await Promise.all(keys.map((key) => say(store, `ticket-${key}`, opened(key))))
    await eventually(() => expect(deps.calls).toHaveLength(40))
    await eventually(async () => expect(await todos()).toBe(0))
    expect(new Set(deps.calls)).toEqual(new Set(keys))
  })

  it('claim nothing from a list of another version, and forget none of its claims', async () => {
    runner = await startList(world)
    await stopProjector(runner, pool, reminders.list.name)
    await pool.query(
      `insert into reminder_list.todo (key, step, due_at, payload) values ('other', 'rename', '2020-01-01', '{}')`,
    )
    const soon = new Date(Date.now() + 60_000)
    const claimsOf = (version: number) =>
      new Claims(pool, { ...reminders, list: { ...reminders.list, version } }, { id: randomUUID() })
    await pool.query(`update runtime.projectors set version = 2, status = 'running'`)
    expect(await claimsOf(1).claim(10, new Date(), soon)).toEqual([])
    expect((await claimsOf(2).claim(10, new Date(), soon)).map(({ todo }) => todo.key)).toEqual(['other'])
    expect(await claimsOf(1).nextDue(new Date())).toBeUndefined()
    expect(await claimsOf(2).nextDue(new Date())).toEqual(soon)

    await pool.query('delete from reminder_list.todo')
    const later = new Date(soon.getTime() + 1_000)
    const left = async () => (await pool.query('select key from runtime.claims')).rows.length
    await claimsOf(1).sweep(later)
    expect(await left()).toBe(1)
    await claimsOf(2).sweep(later)
    expect(await left()).toBe(0)
  })

  it('of two instances work off each row once', async () => {
    runner = await startList(world)
    const deps = dependencies(async () => {
      await new Promise((resolve) => setTimeout(resolve, 2))
      return undefined
    })
    const notifying = notifyWorkers(runner, pool, silentLogger, { mayBeOthers: () => true })
    startWorkers(deps)
    const processes = [bindProcess(reminders, deps)]
    // Postgres notifies these workers, as in another process.
    const other = new Workers({ eventStore: store, pool, processes, filter, logger: silentLogger, pollMs: 60_000 })
    running.push(other)
    other.start()
    const keys = Array.from({ length: 60 }, fresh)
    await Promise.all(keys.map((key) => say(store, `ticket-${key}`, opened(key))))
    await eventually(() => expect(new Set(deps.calls).size).toBe(60))
    await eventually(async () => expect(await todos()).toBe(0))
    await notifying()
    expect(deps.calls.toSorted()).toEqual(keys.toSorted())
  })

  it('of an instance that is alone ask the database seldom', async () => {
    runner = await startList(world)
    const deps = dependencies()
    const listeners = new Listeners()
    startWorkers(deps, { pollMs: 20, listeners })
    await eventually(() => expect(listeners.mayBeOthers()).toBe(false))
    const key = fresh()
    await say(store, `ticket-${key}`, opened(key))
    await eventually(async () => expect([deps.calls, await todos()]).toEqual([[key], 0]))

    const queries = vi.spyOn(pool, 'query')
    await sleep(1_000)
    const aboutClaims = queries.mock.calls.filter(([query]) => JSON.stringify(query).includes('runtime.claims'))
    queries.mockRestore()
    // With polls it would be about fifty.
    expect(aboutClaims.length).toBeLessThan(15)
  })

  it('of an instance that is alone take up rows of a list that was stopped', async () => {
    runner = await startList(world)
    const deps = dependencies()
    const listeners = new Listeners()
    startWorkers(deps, { pollMs: 200, listeners })
    await eventually(() => expect(listeners.mayBeOthers()).toBe(false))
    await stopProjector(runner, pool, reminders.list.name)
    const key = fresh()
    await pool.query(
      `insert into reminder_list.todo (key, step, due_at, payload) values ($1, 'rename', '2020-01-01', '{}')`,
      [key],
    )
    await sleep(500)
    expect(deps.calls).toEqual([])
    await requestResume(pool, reminders.list.name)
    await eventually(() => expect(deps.calls).toEqual([key]))
  })

  it('do not run a step again before its list contains the event that it appended', async () => {
    runner = await startList(world)
    const hasStopped = Promise.withResolvers<void>()
    const deps = dependencies(async () => {
      await hasStopped.promise
      return undefined
    })
    startWorkers(deps, { pollMs: 20 })
    const key = fresh()
    await say(store, `ticket-${key}`, opened(key))
    await eventually(() => expect(deps.calls).toEqual([key]))
    // From here on the list does not advance, so its row stays.
    await runner.close()
    hasStopped.resolve()
    await eventually(async () =>
      expect((await pool.query(`select key from runtime.claims where lease_until <= now()`)).rows).toEqual([{ key }]),
    )
    expect(await titleOf(key)).toBe('renamed')
    expect(await todos()).toBe(1)
    for (const workers of running) workers.wake()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(deps.calls).toEqual([key])
  })

  it('forget the claim of a row that the list has removed', async () => {
    runner = await startList(world)
    const deps = dependencies()
    startWorkers(deps, { pollMs: 60_000 })
    const keys = Array.from({ length: 5 }, fresh)
    await Promise.all(keys.map((key) => say(store, `ticket-${key}`, opened(key))))
    await eventually(() => expect(deps.calls.toSorted()).toEqual(keys.toSorted()))
    await eventually(async () => expect((await pool.query('select key from runtime.claims')).rows).toEqual([]))
    expect(await todos()).toBe(0)
  })

  it('sweep claims again if a sweep failed, as seldom as ever', { timeout: 30_000 }, async () => {
    runner = await startList(world)
    await pool.query(
      `insert into runtime.claims values ('reminders', 'gone', 'rename', 'dead', '-infinity', now(), 0, 0, 0)`,
    )
    let failedMs = Infinity
    const sweep = vi.spyOn(Claims.prototype, 'sweep').mockImplementationOnce(async () => {
      failedMs = performance.now()
      throw new Error('of these tests')
    })
    startWorkers(dependencies(), { pollMs: 60_000 })
    const left = async () => (await pool.query('select key from runtime.claims')).rows
    await expect.poll(left, { timeout: 25_000 }).toEqual([])
    // A round that failed is repeated sooner.
    expect(performance.now() - failedMs).toBeGreaterThanOrEqual(5_000)
    sweep.mockRestore()
  })

  it('run a step when its row is due, by their clock', async () => {
    runner = await startList(world)
    let now = new Date('2030-01-01T00:00:00.000Z')
    const deps = dependencies()
    const workers = startWorkers(deps, { now: () => now })
    const [early, late] = [fresh(), fresh()]
    await say(store, `ticket-${late}`, opened(late, 'at 2030-01-01T00:00:30.000Z'))
    await say(store, `ticket-${early}`, opened(early, 'at 2030-01-01T00:00:00.000Z'))
    await eventually(async () => expect(await titleOf(early)).toBe('renamed'))
    await eventually(async () => expect(await todos()).toBe(1))
    now = new Date('2030-01-01T00:00:29.999Z')
    workers.wake()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(deps.calls).toEqual([early])
    now = new Date('2030-01-01T00:00:30.000Z')
    workers.wake()
    await eventually(() => expect(deps.calls).toEqual([early, late]))
  })

  it('run a step at its time without a poll, also if its row came while nothing was due', async () => {
    runner = await startList(world)
    const deps = dependencies()
    startWorkers(deps, { pollMs: 60_000 })
    const [first, later] = [fresh(), fresh()]
    await say(store, `ticket-${first}`, opened(first))
    await eventually(async () => expect(await titleOf(first)).toBe('renamed'))
    // By then they have read that nothing is due.
    await sleep(500)
    await say(store, `ticket-${later}`, opened(later, `at ${new Date(Date.now() + 1_000).toISOString()}`))
    await eventually(() => expect(deps.calls).toEqual([first, later]))
  })

  it('run a step without a poll if its row came while they read when the next one is due', async () => {
    runner = await startList(world)
    const deps = dependencies()
    const key = fresh()
    const reading = vi.spyOn(Claims.prototype, 'nextDue').mockImplementationOnce(async () => {
      await Promise.all([
        new Promise<unknown>((heard) => runner.onAdvance(heard)),
        say(store, `ticket-${key}`, opened(key)),
      ])
      return undefined
    })
    startWorkers(deps, { pollMs: 60_000 })
    await expect.poll(() => deps.calls, { timeout: 15_000 }).toEqual([key])
    reading.mockRestore()
  })

  it('run a step again that threw or was put off, without an event', async () => {
    runner = await startList(world)
    const deps = dependencies(async (_todo, _context, call) => {
      if (call === 1) throw new Error('of these tests')
      return call === 2 ? { kind: 'retry', after: 10, reason: 'circuit_open' } : undefined
    })
    startWorkers(deps)
    const key = fresh()
    await say(store, `ticket-${key}`, opened(key))
    await eventually(async () => expect(await titleOf(key)).toBe('renamed'))
    expect(deps.calls).toEqual([key, key, key])
    expect((await store.readLast(`ticket-${key}`))?.revision).toBe(1n)
  })

  it('wait for an open attempt until its lease ends', async () => {
    runner = await startList(world)
    let now = new Date('2030-01-01T00:00:00.000Z')
    const until = new Date('2030-01-01T00:00:20.000Z')
    const deps = dependencies(async (_todo, _context, call) => (call === 1 ? { kind: 'wait', until } : undefined))
    const workers = startWorkers(deps, { now: () => now })
    const key = fresh()
    await say(store, `ticket-${key}`, opened(key, 'at 2029-12-31T00:00:00.000Z'))
    await eventually(() => expect(deps.calls).toEqual([key]))
    workers.wake()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(deps.calls).toEqual([key])
    now = until
    workers.wake()
    await eventually(() => expect(deps.calls).toEqual([key, key]))
  })

  it('abort a step that takes too long, and abandon a step that ignores this', async () => {
    runner = await startList(world)
    const reasons: unknown[] = []
    const deps = dependencies((_todo, { signal }, call) => {
      if (call === 1)
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            reasons.push((signal.reason as Error).name)
            reject(new Error('stopped'))
          }),
        )
      return call === 2 ? new Promise(() => undefined) : Promise.resolve(undefined)
    })
    startWorkers(deps, { stepTimeoutMs: 30, stepLeaseMs: 60, workers: 1 })
    const key = fresh()
    await say(store, `ticket-${key}`, opened(key))
    await eventually(async () => expect(await titleOf(key)).toBe('renamed'))
    expect(reasons).toEqual(['TimeoutError'])
    expect(deps.calls).toHaveLength(3)
  })

  it('take over from a dead instance when its lease has ended', async () => {
    runner = await startList(world)
    const key = fresh()
    await say(store, `ticket-${key}`, opened(key))
    await eventually(async () => expect(await todos()).toBe(1))
    await pool.query(
      `insert into runtime.claims values ('reminders', $1, 'rename', 'dead', now() + interval '150 milliseconds', now(), 0, 0, 0)`,
      [key],
    )
    const deps = dependencies()
    startWorkers(deps)
    await eventually(async () => expect(await titleOf(key)).toBe('renamed'))
    expect(deps.calls).toEqual([key])
  })

  it('take over at once from a dead instance whose clock was ahead', async () => {
    runner = await startList(world)
    const key = fresh()
    await say(store, `ticket-${key}`, opened(key))
    await eventually(async () => expect(await todos()).toBe(1))
    const ahead = (ms: number) => new Date(Date.now() + 3 * 3_600_000 + ms)
    const dead = new Claims(pool, reminders, { id: 'dead' })
    expect(await dead.claim(10, ahead(0), ahead(20_000))).toHaveLength(1)
    const deps = dependencies()
    startWorkers(deps)
    await eventually(async () => expect(await titleOf(key)).toBe('renamed'))
    expect(deps.calls).toEqual([key])
  })

  it('run no step of a row twice at once, although a step forward of the clock ends its lease', async () => {
    runner = await startList(world)
    let aheadMs = 0
    const holding = Promise.withResolvers<undefined>()
    const deps = dependencies(() => holding.promise)
    const workers = startWorkers(deps, { now: () => new Date(Date.now() + aheadMs) })
    const key = fresh()
    await say(store, `ticket-${key}`, opened(key))
    await eventually(() => expect(deps.calls).toEqual([key]))
    const leaseEndMs = async () => {
      const { rows } = await pool.query<{ lease_until: Date }>('select lease_until from runtime.claims')
      return rows[0]?.lease_until.getTime() ?? 0
    }
    const before = await leaseEndMs()
    aheadMs = 60_000
    workers.wake()
    await eventually(async () => expect(await leaseEndMs()).toBeGreaterThan(before))
    holding.resolve(undefined)
    await eventually(async () => expect(await todos()).toBe(0))
    expect(deps.calls).toEqual([key])
  })

  describe('of a named instance', () => {
    it('give their claims back before another run can be the instance', async () => {
      runner = await startList(world)
      const locks = await AdvisoryLocks.open(pool, () => undefined)
      const wasFree: boolean[] = []
      let isClosing = false
      const query = async (...given: Parameters<Pool['query']>) => {
        if (isClosing) wasFree.push(await locks.tryAcquire('instance clinic'))
        return pool.query(...given)
      }
      const watched = new Proxy(pool, {
        get: (target, name) => (name === 'query' ? query : Reflect.get(target, name, target)),
      })
      const holding = Promise.withResolvers<undefined>()
      const deps = dependencies(() => holding.promise)
      const workers = startWorkers(deps, { instance: 'clinic', pool: watched })
      const key = fresh()
      await say(store, `ticket-${key}`, opened(key))
      await eventually(() => expect(deps.calls).toEqual([key]))
      const closed = workers.close()
      isClosing = true
      holding.resolve(undefined)
      await closed
      await locks.close()
      expect(wasFree.length).toBeGreaterThan(0)
      expect(wasFree).not.toContain(true)
    })

    const lease = () => new Date(Date.now() + 60_000)
    const claimAs = async (id: string, until = lease()) => {
      const claims = new Claims(pool, reminders, { id })
      await eventually(async () => expect(await claims.claim(10, new Date(), until)).toHaveLength(1))
      return until.toISOString()
    }
    const openTicket = async () => {
      runner = await startList(world)
      const key = fresh()
      await say(store, `ticket-${key}`, opened(key))
      return key
    }

    it('continue at once what an earlier run of the instance left, and know its leases until the row is done', async () => {
      const key = await openTicket()
      const left = await claimAs('clinic/earlier')
      const known: (readonly string[])[] = []
      const deps = dependencies(async (_todo, { endedLeases }, call) => {
        known.push(endedLeases)
        return call === 1 ? { kind: 'retry', after: 1, reason: 'away' } : undefined
      })
      startWorkers(deps, { instance: 'clinic' })
      await eventually(async () => expect(await titleOf(key)).toBe('renamed'))
      expect(known).toEqual([[left], [left]])
      await eventually(async () => {
        const { rows } = await pool.query<{ ended_leases: Date[] }>('select ended_leases from runtime.claims')
        expect(rows.flatMap(({ ended_leases }) => ended_leases)).toEqual([])
      })
    })

    it.each(['clinic-2', 'clinic/2'])('leave the claims of other instances, as of %s', async (longer) => {
      const key = await openTicket()
      await claimAs(`${longer}/running`)
      const deps = dependencies()
      startWorkers(deps, { instance: 'clinic' })
      const later = fresh()
      await say(store, `ticket-${later}`, opened(later))
      await eventually(async () => expect(await titleOf(later)).toBe('renamed'))
      expect([deps.calls, await titleOf(key)]).toEqual([[later], undefined])
      await pool.query(`update runtime.claims set lease_until = '-infinity' where worker = $1`, [`${longer}/running`])
      await eventually(async () => expect(await titleOf(key)).toBe('renamed'))
    })

    it('take nothing over while another living process is the instance', async () => {
      runner = await startList(world)
      const holding = Promise.withResolvers<undefined>()
      const key = fresh()
      const first = dependencies(({ key: due }) => (due === key ? holding.promise : Promise.resolve(undefined)))
      startWorkers(first, { instance: 'clinic' })
      await say(store, `ticket-${key}`, opened(key))
      await eventually(() => expect(first.calls).toEqual([key]))
      const second = dependencies()
      startWorkers(second, { instance: 'clinic' })
      const later = fresh()
      await say(store, `ticket-${later}`, opened(later))
      await eventually(async () => expect(await titleOf(later)).toBe('renamed'))
      holding.resolve(undefined)
      await eventually(async () => expect(await titleOf(key)).toBe('renamed'))
      expect([...first.calls, ...second.calls].toSorted((one, other) => one.localeCompare(other))).toEqual([key, later])
    })
  })

  it('forget the claim of an instance whose clock was ahead, when the list has removed its row', async () => {
    runner = await startList(world)
    await stopProjector(runner, pool, reminders.list.name)
    await pool.query(
      `insert into reminder_list.todo (key, step, due_at, payload) values ('gone', 'rename', '2020-01-01', '{}')`,
    )
    await pool.query(`update runtime.projectors set status = 'running'`)
    const claims = new Claims(pool, reminders, { id: 'dead' })
    const ahead = (ms: number) => new Date(Date.now() + 3 * 3_600_000 + ms)
    expect(await claims.claim(10, ahead(0), ahead(20_000))).toHaveLength(1)
    await pool.query('delete from reminder_list.todo')
    await claims.sweep(new Date())
    expect((await pool.query('select key from runtime.claims')).rows).toEqual([])
  })

  it('claim nothing before the list has reached the head of the log', async () => {
    const key = fresh()
    await say(store, `ticket-${key}`, opened(key), renamed(key, 'long done'))
    runner = await startList(world)
    await runner.close()
    await pool.query(`insert into reminder_list.todo values ($1, 'rename', null, now() - interval '1 hour', '{}')`, [
      key,
    ])
    await pool.query(`update runtime.projectors set commit_position = 1, prepare_position = 1`)
    const deps = dependencies()
    startWorkers(deps, { pollMs: 10 })
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(deps.calls).toEqual([])
  })

  it('finish their steps when they close, and give the other rows back', async () => {
    runner = await startList(world)
    const begun = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const deps = dependencies(async () => {
      begun.resolve()
      await finish.promise
      return undefined
    })
    const workers = startWorkers(deps, { workers: 1 })
    const [one, other] = [fresh(), fresh()]
    await say(store, `ticket-${one}`, opened(one))
    await say(store, `ticket-${other}`, opened(other))
    await begun.promise
    const closing = workers.close(5_000)
    finish.resolve()
    await closing
    expect(await titleOf(one)).toBe('renamed')
    expect(await titleOf(other)).toBeUndefined()
    const { rows } = await pool.query(`select key from runtime.claims where lease_until > now()`)
    expect(rows).toEqual([])
    startWorkers(dependencies())
    await eventually(async () => expect(await titleOf(other)).toBe('renamed'))
  })

  it('end when they close while they connect', { timeout: 15_000 }, async () => {
    runner = await startList(world)
    await startWorkers(dependencies()).close()
    const listening = `select pid from pg_stat_activity where datname = current_database() and query = 'listen todo_lists'`
    await eventually(async () => expect((await pool.query(listening)).rows).toEqual([]))
  })

  it('append one outcome when five race for a stream', async () => {
    runner = await startList(world)
    const key = fresh()
    const { position } = await say(store, `ticket-${key}`, opened(key))
    const todo = {
      key,
      step: 'rename',
      orgId: null,
      dueAt: new Date(0),
      payload: { eventId: '0f4cbb1e-0f36-4d5c-8f4a-0c8a34a1a111', correlationId: 'c' },
    }
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => appendRenaming(store, todo, 'renamed')))
    expect(outcomes.every(({ kind }) => kind === 'done')).toBe(true)
    const last = await store.readLast(`ticket-${key}`)
    expect(last?.revision).toBe(1n)
    expect(last === undefined ? false : last.position.commit > position.commit).toBe(true)
  })
})

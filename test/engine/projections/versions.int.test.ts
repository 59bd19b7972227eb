import { describe, expect, it, vi } from 'vitest'
import { continuedCopy } from '../../../engine/rebuild/copies.ts'
import { fill } from '../../../engine/rebuild/fill.ts'
import { OperatorLocks } from '../../../engine/rebuild/operator-locks.ts'
import { defineProjector, type Projector } from '../../../engine/projections/projector.ts'
import { insertRow, patchRow } from '../../../engine/projections/row-changes.ts'
import { AdvisoryLocks } from '../../../platform/database/advisory-locks.ts'
import { requestResume } from '../../../engine/rebuild/resume.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { formatPosition } from '../../../platform/kit/positions.ts'
import { eventually } from '../../support/eventually.ts'
import { requestStop, stopProjector } from '../../support/stopped-projectors.ts'
import { RebuildWorld } from '../rebuild/rebuild-world.ts'
import {
  filter,
  opened,
  renamed,
  say,
  silentLogger,
  ticketBoard,
  ticketCounts,
  tickets,
  type TicketEvent,
} from './tickets.ts'

const world = RebuildWorld.ofThisFile()

/** The board of a later version, marked in its titles. */
function board(version: number, given: Partial<Projector> = {}): Projector {
  return defineProjector<TicketEvent>()({
    ...ticketBoard,
    version,
    handlers: {
      TicketOpened: ({ data, recordedAt, revision }) => [
        insertRow(tickets, {
          ticketId: data.ticketId,
          title: `v${version} ${data.title}`,
          team: data.team,
          openedAt: recordedAt,
          streamRevision: revision,
        }),
      ],
      TicketRenamed: ({ data }) => [patchRow(tickets, { ticketId: data.ticketId, title: `v${version} ${data.title}` })],
    },
    ...given,
  })
}

async function ticketNamed(title: string): Promise<string> {
  const ticket = world.fresh()
  await say(world.store, `ticket-${ticket}`, opened(ticket, title))
  return ticket
}

describe('a newer version of a projector', () => {
  it('fills its copy while the older one serves and is written, then replaces it', async () => {
    const ticket = await ticketNamed('a')
    const older = world.start([board(1)])
    await older.caughtUp()
    await eventually(() => expect(older.status()[0]?.state).toBe('live'))
    // Another process works on the copies. The newer program must wait, and the older one continues.
    const operator = await OperatorLocks.open({ pool: world.pool })
    await operator.take('ticket_board')
    const newer = world.start([board(2)])
    await eventually(() => expect(newer.status()[0]?.state).toBe('catching-up'))
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'b'))
    await eventually(async () => expect((await world.titles(board(1)))[ticket]).toBe('v1 b'))
    expect([newer.isCaughtUp(), (await world.stored('ticket_board'))?.version]).toEqual([false, 1])
    await operator.close()
    await newer.caughtUp()
    expect((await world.titles(board(2)))[ticket]).toBe('v2 b')
    // The older instance goes on standby for good within its process, and hands over its lock.
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'c'))
    await eventually(async () => expect((await world.titles(board(2)))[ticket]).toBe('v2 c'))
    await eventually(() => expect([older.status()[0]?.state, newer.status()[0]?.state]).toEqual(['standby', 'live']))
    await eventually(async () =>
      expect(await world.stored('ticket_board')).toMatchObject({ version: 2, status: 'running' }),
    )
  })

  it('and an older one in parallel switch only once: the newer one takes over', async () => {
    const ticket = await ticketNamed('a')
    const programs = [
      world.start([board(1)]),
      world.start([board(2)]),
      world.start([board(1)]),
      world.start([board(2)]),
    ]
    await Promise.all(programs.map((runner) => runner.caughtUp()))
    await eventually(async () => expect((await world.stored('ticket_board'))?.version).toBe(2))
    const served = (await world.stored('ticket_board'))?.copyId
    for (let round = 0; round < 10; round += 1) {
      await say(world.store, `ticket-${ticket}`, renamed(ticket, `round ${round}`))
      await eventually(async () => expect((await world.titles(board(2)))[ticket]).toBe(`v2 round ${round}`))
    }
    expect((await world.stored('ticket_board'))?.copyId).toBe(served)
    await eventually(() => {
      const states = programs.map((runner) => runner.status()[0]?.state)
      expect([states[0], states[2]]).toEqual(['standby', 'standby'])
      expect(new Set([states[1], states[3]])).toEqual(new Set(['live', 'standby']))
    })
  })

  it('is not changed by an older program that starts when no instance runs it', async () => {
    const ticket = await ticketNamed('a')
    await world.filled([board(2)])
    const before = await world.stored('ticket_board')
    const warn = vi.fn()
    const older = world.start([board(1)], { logger: { ...silentLogger, warn } })
    await older.caughtUp()
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'not by an older one'))
    const newer = world.start([board(2)])
    await eventually(async () => expect((await world.titles(board(2)))[ticket]).toBe('v2 not by an older one'))
    expect(older.status()[0]?.state).toBe('standby')
    expect((await world.stored('ticket_board'))?.copyId).toBe(before?.copyId)
    expect(warn.mock.calls.filter(([, message]) => String(message).startsWith('version 2'))).toHaveLength(1)
    expect(newer.status()[0]?.state).toBe('live')
  })

  it('continues the copy that its killed program left half filled', async () => {
    const [first, second] = [await ticketNamed('first'), await ticketNamed('second')]
    await world.filled([board(1)])
    const taken: string[] = []
    const watched = board(2, {
      handlers: {
        ...board(2).handlers,
        TicketOpened: (event) => {
          taken.push(formatPosition(event.position))
          return board(2).handlers['TicketOpened']?.(event) ?? []
        },
      },
    })
    const half = await continuedCopy(world.context(), watched)
    const appended = await say(world.store, `ticket-${world.fresh()}`, opened('half'))
    await fill(world.context(), [{ copy: half, upTo: appended.position }])
    const before = taken.length
    const third = await ticketNamed('third')
    const newer = world.start([watched])
    await newer.caughtUp()
    expect(taken.slice(before)).toHaveLength(1)
    expect(await world.titles(watched)).toMatchObject({
      [first]: 'v2 first',
      [second]: 'v2 second',
      [third]: 'v2 third',
    })
  })

  it('restarts its copy if the copy contains an event skipped since', async () => {
    const [kept, skipped] = [await ticketNamed('kept'), world.fresh()]
    await world.filled([board(1)])
    const { position } = await say(world.store, `ticket-${skipped}`, opened(skipped, 'skipped meanwhile'))
    const half = await continuedCopy(world.context(), board(2))
    await fill(world.context(), [{ copy: half, upTo: position }])
    const newer = world.start([board(2)], { skips: async () => new Set([formatPosition(position)]) })
    await newer.caughtUp()
    expect(await world.titles(board(2))).toMatchObject({ [kept]: 'v2 kept' })
    expect(await world.titles(board(2))).not.toHaveProperty(skipped)
  })

  it('that cannot process an event leaves the older one serving, reports it, and tries again after a resume', async () => {
    const bad = await ticketNamed('bad')
    const older = world.start([board(1)])
    await older.caughtUp()
    let isMended = false
    const picky = board(2, {
      handlers: {
        ...board(2).handlers,
        TicketOpened: (event) => {
          const changes = board(2).handlers['TicketOpened']?.(event) ?? []
          return isMended || event.stream !== `ticket-${bad}` ? changes : [...changes, ...changes]
        },
      },
    })
    const newer = world.start([picky])
    await eventually(() =>
      expect(newer.status()[0]).toMatchObject({
        state: 'failed',
        failure: { eventType: 'TicketOpened', reason: 'insert of an existing row of tickets' },
      }),
    )
    await say(world.store, `ticket-${bad}`, renamed(bad, 'older goes on'))
    await eventually(async () => expect((await world.titles(board(1)))[bad]).toBe('v1 older goes on'))
    expect(await world.stored('ticket_board')).toMatchObject({ version: 1, status: 'running' })
    // The instances of the older version are not replaced by one that cannot fill its copy.
    await newer.caughtUp()
    expect([newer.isCaughtUp(), older.isCaughtUp()]).toEqual([false, true])
    isMended = true
    expect(await requestResume(world.pool, 'ticket_board')).toBeDefined()
    await eventually(async () => expect((await world.titles(picky))[bad]).toBe('v2 older goes on'))
    await eventually(() => expect(newer.status()[0]?.state).toBe('live'))
  })

  it('that cannot process an event is tried once by each instance, however many there are', async () => {
    await ticketNamed('bad')
    await world.filled([board(1)])
    const picky = board(2, {
      handlers: {
        TicketOpened: () => {
          throw new RangeError('never')
        },
      },
    })
    const first = world.start([picky, ticketCounts])
    await eventually(() => expect(first.status()[0]?.state).toBe('failed'))
    const gate = Promise.withResolvers<void>()
    const readLog: EventStore['readLog'] = async function* (read) {
      await gate.promise
      yield* world.store.readLog(read)
    }
    const { store } = world
    const eventStore = { readLog, head: store.head.bind(store), subscribeToAll: store.subscribeToAll.bind(store) }
    const second = world.start([picky], { eventStore })
    await eventually(async () =>
      expect(await world.stored('ticket_board__next')).toMatchObject({ status: 'rebuilding' }),
    )
    // There is nothing to resume. But the first instance looks at the copies.
    expect(await requestResume(world.pool, 'ticket_board')).toBeUndefined()
    for (let beats = 0; beats < 2; beats += 1) {
      await world.pool.query(`update runtime.projectors set heartbeat_at = null where name = 'ticket_counts'`)
      await eventually(async () => expect((await world.stored('ticket_counts'))?.heartbeatAgeMs).not.toBeNull())
    }
    expect(first.status()[0]?.state).toBe('failed')
    gate.resolve()
    await eventually(() => expect(second.status()[0]?.state).toBe('failed'))
    expect(await world.stored('ticket_board__next')).toMatchObject({ status: 'failed' })
  })

  it('that cannot process an event is not tried again after the locks were lost', async () => {
    await ticketNamed('bad')
    await world.filled([board(1)])
    let tries = 0
    const picky = board(2, {
      handlers: {
        TicketOpened: () => {
          tries += 1
          throw new RangeError('never')
        },
      },
    })
    const newer = world.start([picky, ticketCounts])
    await eventually(() => expect(newer.status().map(({ state }) => state)).toEqual(['failed', 'live']))
    const [[failed], triesBefore] = [newer.status(), tries]
    const holders = async () => {
      const { rows } = await world.pool.query<{ pid: number }>(
        `select distinct pid from pg_locks join pg_database d on d.oid = database and datname = current_database() where locktype = 'advisory'`,
      )
      return rows.map(({ pid }) => pid)
    }
    const before = await holders()
    await world.pool.query('select pg_terminate_backend(pid) from unnest($1::integer[]) as pid', [before])
    await eventually(async () => {
      const now = await holders()
      expect([now.length > 0, now.some((pid) => before.includes(pid)), newer.status()[1]?.state]).toEqual([
        true,
        false,
        'live',
      ])
    })
    expect([newer.status()[0], tries]).toEqual([failed, triesBefore])
  })

  it('is fed once its copy serves, although the database fails in the look that takes it', async () => {
    await ticketNamed('a')
    await world.filled([board(1)])
    // Nobody but this holds the lock of the other projector, until the copy is nearly filled.
    const locks = await AdvisoryLocks.open(world.pool, () => undefined)
    await locks.tryAcquire(ticketCounts.name)
    const filling = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    let [isNext, hasFailed] = [false, false]
    const skips = async (name: string): Promise<ReadonlySet<string>> => {
      filling.resolve()
      await released.promise
      isNext = name === ticketCounts.name && !hasFailed
      return new Set()
    }
    const refuses = () => {
      ;[isNext, hasFailed] = [false, true]
      throw new Error('too many connections')
    }
    const pool = new Proxy(world.pool, {
      get: (target, name) => (name === 'connect' && isNext ? refuses : Reflect.get(target, name, target)),
    })
    const newer = world.start([board(2), ticketCounts], { pool, skips, heartbeatMs: 60_000 })
    await filling.promise
    await locks.close()
    released.resolve()
    await eventually(() => expect(newer.status().map(({ state }) => state)).toEqual(['live', 'live']))
    expect(hasFailed).toBe(true)
  })

  it('without room on the disk drops its copy, and tries again only after a resume', async () => {
    const ticket = await ticketNamed('a')
    await world.filled([board(1)])
    await world.pool
      .query(`create function runtime.full() returns trigger language plpgsql as $$ begin raise exception 'no space left' using errcode = '53100'; end $$;
      create trigger full_disk before update on runtime.projectors for each row when (new.name = 'ticket_board__next' and new.commit_position > 0) execute function runtime.full()`)
    const error = vi.fn()
    const older = world.start([board(1)])
    const newer = world.start([board(2)], { logger: { ...silentLogger, error } })
    await eventually(() => expect(newer.status()[0]).toMatchObject({ state: 'failed', failure: undefined }))
    const tables = async () =>
      (await world.pool.query(`select from pg_tables where schemaname = 'ticket_board__next'`)).rowCount
    expect(await tables()).toBe(0)
    await world.pool.query('drop trigger full_disk on runtime.projectors')
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'older goes on'))
    await eventually(async () => expect((await world.titles(board(1)))[ticket]).toBe('v1 older goes on'))
    expect([newer.status()[0]?.state, await tables(), error.mock.calls.length]).toEqual(['failed', 0, 1])
    expect(await requestResume(world.pool, 'ticket_board')).toBeDefined()
    await eventually(async () => expect((await world.titles(board(2)))[ticket]).toBe('v2 older goes on'))
    await eventually(() => expect(older.status()[0]?.state).toBe('standby'))
  })

  it('that is stopped and resumed starts after its earlier attempt has ended', async () => {
    await ticketNamed('a')
    await world.filled([board(1)])
    const gate = Promise.withResolvers<void>()
    let [begun, atOnce, most] = [0, 0, 0]
    const skips = async (): Promise<ReadonlySet<string>> => {
      begun += 1
      atOnce += 1
      most = Math.max(most, atOnce)
      if (begun === 1) await gate.promise
      atOnce -= 1
      return new Set()
    }
    const newer = world.start([board(2)], { skips })
    await eventually(() => expect(begun).toBe(1))
    await stopProjector(newer, world.pool, 'ticket_board')
    expect(newer.status()[0]?.state).toBe('standby')
    expect(await requestResume(world.pool, 'ticket_board')).toBeDefined()
    await eventually(() => expect(newer.status()[0]?.state).toBe('catching-up'))
    gate.resolve()
    await newer.caughtUp()
    await eventually(async () =>
      expect(await world.stored('ticket_board')).toMatchObject({ version: 2, status: 'running' }),
    )
    expect(most).toBe(1)
  })

  it('does not change a stopped one', async () => {
    await world.filled([board(1)])
    await requestStop(world.pool, 'ticket_board')
    const newer = world.start([board(2)])
    await newer.caughtUp()
    expect(await world.stored('ticket_board')).toMatchObject({ version: 1, status: 'stopped' })
    expect(await world.copies('ticket_board')).toEqual([])
    expect(await requestResume(world.pool, 'ticket_board')).toBeDefined()
    await eventually(async () =>
      expect(await world.stored('ticket_board')).toMatchObject({ version: 2, status: 'running' }),
    )
  })

  it('takes a failed older one past its event', async () => {
    const ticket = world.fresh()
    const failing = board(1, {
      handlers: {
        TicketOpened: ({ stream }) =>
          stream === `ticket-${ticket}` ? [patchRow(tickets, { ticketId: 'nobody', title: 'x' })] : [],
      },
    })
    await world.filled([failing])
    await say(world.store, `ticket-${ticket}`, opened(ticket, 'a'))
    const older = world.start([failing])
    await eventually(() => expect(older.status()[0]?.state).toBe('failed'))
    await older.close()
    const newer = world.start([board(2)])
    await newer.caughtUp()
    await eventually(async () => expect((await world.titles(board(2)))[ticket]).toBe('v2 a'))
    await eventually(async () =>
      expect(await world.stored('ticket_board')).toMatchObject({ version: 2, status: 'running' }),
    )
  })
})

describe('other tables under the same version', () => {
  const other = (): Projector => {
    const extra = { ...tickets, columns: { ...tickets.columns, extra: { type: 'text', nullable: true } as const } }
    return board(1, { tables: [extra, ...ticketBoard.tables.slice(1)] })
  }

  it('wait on standby while an instance runs the serving ones, and are filled after it stops', async () => {
    const ticket = await ticketNamed('a')
    const serving = world.start([board(1)])
    await serving.caughtUp()
    await eventually(() => expect(serving.status()[0]?.state).toBe('live'))
    const before = await world.stored('ticket_board')
    const changed = world.start([other()])
    await changed.caughtUp()
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'b'))
    await eventually(async () => expect((await world.titles(board(1)))[ticket]).toBe('v1 b'))
    expect(changed.status()[0]?.state).toBe('standby')
    expect((await world.stored('ticket_board'))?.copyId).toBe(before?.copyId)
    await serving.close()
    await eventually(() => expect(changed.status()[0]?.state).toBe('live'))
    const { rows } = await world.pool.query('select extra from ticket_board.tickets where ticket_id = $1', [ticket])
    expect(rows).toEqual([{ extra: null }])
  })
})

describe('other tables that cannot be filled', () => {
  it('are tried once, and the serving ones do not count as run by another instance meanwhile', async () => {
    const ticket = await ticketNamed('a')
    await world.filled([board(1)])
    let tries = 0
    const extra = { ...tickets, columns: { ...tickets.columns, extra: { type: 'text', nullable: true } as const } }
    const picky = board(1, {
      tables: [extra, ...ticketBoard.tables.slice(1)],
      handlers: {
        TicketOpened: ({ stream }) => {
          if (stream !== `ticket-${ticket}`) return []
          tries += 1
          throw new TypeError('not this one')
        },
      },
    })
    const runner = world.start([picky])
    await eventually(() => expect(runner.status()[0]?.state).toBe('failed'))
    const before = [tries, (await world.stored('ticket_board'))?.heartbeatAgeMs ?? 0]
    // Rounds of another instance show that there was time for several more.
    const other = world.start([board(1, { name: 'other_board' })])
    for (let look = 0; look < 10; look += 1) {
      const since = (await world.pool.query<{ at: Date }>('select clock_timestamp() as at')).rows[0]?.at
      await eventually(async () => {
        const { rows } = await world.pool.query(
          'select from runtime.projectors where name = $1 and heartbeat_at > $2',
          ['other_board', since],
        )
        expect(rows).toHaveLength(1)
      })
    }
    expect([other.isCaughtUp(), runner.isCaughtUp(), runner.status()[0]?.state]).toEqual([true, false, 'failed'])
    expect(tries).toBe(before[0])
    expect((await world.stored('ticket_board'))?.heartbeatAgeMs).toBeGreaterThan(before[1] ?? 0)
  })
})

describe('the state of an older installation', () => {
  it('gets the columns that were added since, and keeps its position', async () => {
    await ticketNamed('a')
    await world.filled([board(1)])
    const before = await world.stored('ticket_board')
    const columnsOfClaims = `select column_name, data_type, column_default, is_nullable from information_schema.columns
      where table_schema = 'runtime' and table_name = 'claims' order by column_name`
    const { rows: claims } = await world.pool.query(columnsOfClaims)
    await world.pool.query(`alter table runtime.projectors drop column copy_id, drop column shape_id;
      drop table runtime.claims;
      create table runtime.claims (process text not null, key text not null, step text not null, worker text not null,
        lease_until timestamptz not null, not_before timestamptz not null, fence_commit numeric(20, 0) not null,
        fence_prepare numeric(20, 0) not null, failures integer not null, primary key (process, key, step))`)
    const runner = world.start([board(1)])
    await runner.caughtUp()
    expect(await world.stored('ticket_board')).toMatchObject({
      position: before?.position,
      copyId: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
    })
    const ticket = await ticketNamed('b')
    await eventually(async () => expect((await world.titles(board(1)))[ticket]).toBe('v1 b'))
    expect(await world.store.head(filter)).toBeDefined()
    expect((await world.pool.query(columnsOfClaims)).rows).toEqual(claims)
    expect((await world.pool.query(`select from pg_indexes where indexname = 'failing_claims'`)).rows).toHaveLength(1)
  })
})

describe('a runner', () => {
  it('continues with a read model that was put back from its position, also without new events, and only then shows it as running', async () => {
    const ticket = await ticketNamed('a')
    const runner = world.start([board(1)])
    await runner.caughtUp()
    await eventually(async () => expect(await world.stored('ticket_board')).toMatchObject({ status: 'running' }))
    await world.pool.query(`begin; truncate ticket_board.tickets;
      update runtime.projectors set commit_position = 0, prepare_position = 0, status = 'rebuilding' where name = 'ticket_board'; commit`)
    await eventually(async () => expect(await world.stored('ticket_board')).toMatchObject({ status: 'running' }))
    expect((await world.titles(board(1)))[ticket]).toBe('v1 a')
  })

  it('waits until it can read the skipped events', async () => {
    const ticket = world.fresh()
    const { position } = await say(world.store, `ticket-${ticket}`, opened(ticket, 'never shown'))
    let isAway = true
    const skips = async (): Promise<ReadonlySet<string>> => {
      if (isAway) throw new Error('the event store is away')
      return new Set([formatPosition(position)])
    }
    const runner = world.start([board(1)], { skips })
    await eventually(() => expect(runner.status()[0]?.state).toBe('catching-up'))
    expect(runner.isCaughtUp()).toBe(false)
    isAway = false
    await runner.caughtUp()
    expect(await world.titles(board(1))).not.toHaveProperty(ticket)
    const newer = world.start([board(2)], { skips })
    await newer.caughtUp()
    expect(await world.titles(board(2))).not.toHaveProperty(ticket)
  })
})

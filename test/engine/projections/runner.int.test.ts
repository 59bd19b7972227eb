import { setTimeout } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { readCheckpoints } from '../../../engine/projections/checkpoints.ts'
import { defineProjector, type Projector } from '../../../engine/projections/projector.ts'
import { insertRow, patchRow } from '../../../engine/projections/row-changes.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import type { ProjectionRunnerOptions } from '../../../engine/projections/runner-options.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { readRows } from '../../support/given-projector.ts'
import { breakConnections, freshDatabase } from '../../support/postgres.ts'
import {
  closed,
  emptyDatabase,
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
import { openTicketWorld, type TicketWorld } from './ticket-world.ts'
import { eventually } from '../../support/eventually.ts'
import { stopProjector } from '../../support/stopped-projectors.ts'

let world: TicketWorld
let store: EventStore
let pool: Pool
const runners: ProjectionRunner[] = []

beforeAll(async () => {
  world = await openTicketWorld({ connections: 6 })
  ;({ store, pool } = world)
})
afterAll(() => world.close())
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.close()))
  await emptyDatabase(pool)
})

function start(projectors: readonly Projector[], options: Partial<ProjectionRunnerOptions> = {}): ProjectionRunner {
  const runner = new ProjectionRunner({
    eventStore: store,
    pool,
    projectors,
    filter,
    logger: silentLogger,
    heartbeatMs: 50,
    ...options,
  })
  runners.push(runner)
  runner.start()
  return runner
}

let nextTicket = 0
/** A ticket for this test only, because all tests of the file share one log. */
function fresh(): string {
  nextTicket += 1
  return `k${nextTicket}`
}

async function titles(projector: Projector, from = pool): Promise<Record<string, unknown>> {
  const { tickets: rows = [] } = await readRows(from, projector)
  return Object.fromEntries(rows.map((row) => [String(row['ticket_id']), row['title']]))
}

describe('the projection runner', () => {
  it('fills read models from the log and follows it', async () => {
    const [one, other] = [fresh(), fresh()]
    await say(store, `ticket-${one}`, opened(one), renamed(one, 'before'))
    const runner = start([ticketBoard, ticketCounts])
    await runner.caughtUp()
    expect((await titles(ticketBoard))[one]).toBe('before')
    await say(store, `ticket-${other}`, opened(other))
    await say(store, `ticket-${one}`, renamed(one, 'after'))
    await eventually(async () =>
      expect(await titles(ticketBoard)).toMatchObject({ [one]: 'after', [other]: `title of ${other}` }),
    )
    await eventually(() => expect(runner.status().map(({ state }) => state)).toEqual(['live', 'live']))
    expect((await readCheckpoints(pool, ['ticket_board'])).get('ticket_board')).toMatchObject({
      status: 'running',
      version: 1,
    })
  })

  it('moves every projector with every event, also with events that it does not handle', async () => {
    const ticket = fresh()
    const runner = start([ticketBoard, ticketCounts])
    await runner.caughtUp()
    const appended = await say(store, `ticket-${ticket}`, opened(ticket), closed(ticket))
    await eventually(async () => {
      const stored = await readCheckpoints(pool, ['ticket_board', 'ticket_counts'])
      expect([...stored.values()].map(({ position }) => position)).toEqual([appended.position, appended.position])
    })
  })

  it('has not caught up when its read of the log breaks on the way', async () => {
    const ticket = fresh()
    await say(store, `ticket-${ticket}`, opened(ticket))
    let breaks = 3
    const breaking = new Proxy(store, {
      get(target, name) {
        if (name !== 'subscribeToAll') return Reflect.get(target, name)
        const subscribe: EventStore['subscribeToAll'] = (options) => {
          breaks -= 1
          if (breaks < 0) return target.subscribeToAll(options)
          const { onEvent: _, ...others } = options
          return target.subscribeToAll({ ...others, onBatch: () => Promise.reject(new Error('a broken read')) })
        }
        return subscribe
      },
    })
    const runner = start([ticketBoard], { eventStore: breaking })
    await runner.caughtUp()
    expect([breaks, (await titles(ticketBoard))[ticket]]).toEqual([-1, `title of ${ticket}`])
  })

  it('has not caught up while it has lost its locks', async () => {
    const runner = start([ticketBoard])
    await runner.caughtUp()
    for (let round = 0; round < 10; round += 1) {
      await breakConnections(world.database.url)
      // It may not have noticed yet.
      await setTimeout(round)
      await runner.caughtUp()
      expect(runner.status().map(({ state }) => state)).toEqual(['live'])
    }
  })

  it('continues exactly where it stopped', async () => {
    const ticket = fresh()
    const first = start([ticketCounts])
    await first.caughtUp()
    await say(store, `ticket-${ticket}`, opened(ticket))
    await first.close()
    await say(store, `ticket-${ticket}`, renamed(ticket, 'a'), renamed(ticket, 'b'))
    // A second insert of the same event would stop the projector.
    const second = start([ticketCounts])
    await second.caughtUp()
    const { counts = [] } = await readRows(pool, ticketCounts)
    expect(counts.filter((row) => row['ticket_id'] === ticket)).toHaveLength(3)
    expect(second.status()[0]).toMatchObject({ state: 'live', failure: undefined })
  })

  it('stops only the projector that cannot process an event, at that event, and reports it', async () => {
    const [good, bad] = [fresh(), fresh()]
    const picky = defineProjector<TicketEvent>()({
      ...ticketBoard,
      name: 'picky_board',
      handlers: {
        TicketOpened: ({ data, recordedAt }) => [
          insertRow(tickets, {
            ticketId: data.ticketId,
            title: data.title,
            team: 'x',
            openedAt: recordedAt,
            streamRevision: 0n,
          }),
        ],
        TicketRenamed: ({ data }) =>
          data.ticketId === bad ? [patchRow(tickets, { ticketId: 'nobody', title: 'x' })] : [],
      },
    })
    const runner = start([picky, ticketCounts])
    await runner.caughtUp()
    await say(store, `ticket-${good}`, opened(good))
    await say(store, `ticket-${bad}`, opened(bad), renamed(bad, 'refused by one'))
    await say(store, `ticket-${good}`, renamed(good, 'after the failure'))
    await eventually(async () => {
      const { counts = [] } = await readRows(pool, ticketCounts)
      expect(counts.filter((row) => row['ticket_id'] === good)).toHaveLength(2)
    })
    await eventually(() =>
      expect(runner.status()[0]).toMatchObject({
        state: 'failed',
        failure: { eventType: 'TicketRenamed', category: 'ticket', reason: 'patch of a missing row of tickets' },
      }),
    )
    expect((await titles(picky))[good]).toBe(`title of ${good}`)
    const { rows } = await pool.query(
      `select status, failed_event_type, failed_reason from runtime.projectors where name = 'picky_board'`,
    )
    expect(rows).toEqual([
      { status: 'failed', failed_event_type: 'TicketRenamed', failed_reason: 'patch of a missing row of tickets' },
    ])
  })

  it('reports the class and place of a handler that throws, not its message', async () => {
    const ticket = fresh()
    const thrower = defineProjector<TicketEvent>()({
      ...ticketBoard,
      name: 'thrower',
      handlers: {
        TicketOpened: ({ data }) => {
          if (data.ticketId === ticket) throw new RangeError(`secret of ${data.title}`)
          return []
        },
      },
    })
    const runner = start([thrower])
    await say(store, `ticket-${ticket}`, opened(ticket))
    await eventually(() => expect(runner.status()[0]?.state).toBe('failed'))
    expect(runner.status()[0]?.failure?.reason).toMatch(/^RangeError at runner\.int\.test\.ts:\d+$/)
  })

  it('stops and resumes a projector on behalf of an operator on another instance', async () => {
    const ticket = fresh()
    const runner = start([ticketCounts])
    await runner.caughtUp()
    await stopProjector(runner, pool, 'ticket_counts')
    expect(runner.status()[0]?.state).toBe('stopped')
    await say(store, `ticket-${ticket}`, opened(ticket))
    await runner.close()
    const later = start([ticketCounts])
    await eventually(() => expect(later.status()[0]?.state).toBe('stopped'))
    const seen = async () =>
      (await readRows(pool, ticketCounts))['counts']?.filter((row) => row['ticket_id'] === ticket).length
    expect(await seen()).toBe(0)
    await pool.query(`update runtime.projectors set status = 'running' where name = 'ticket_counts'`)
    await eventually(async () => expect(await seen()).toBe(1))
  })

  it('drops and refills a read model whose version has changed', async () => {
    const ticket = fresh()
    const first = start([ticketBoard, ticketCounts])
    await say(store, `ticket-${ticket}`, opened(ticket))
    await first.caughtUp()
    await first.close()
    const next = defineProjector<TicketEvent>()({
      ...ticketBoard,
      version: 2,
      handlers: {
        TicketOpened: ({ data, recordedAt }) => [
          insertRow(tickets, {
            ticketId: data.ticketId,
            title: 'second version',
            team: 'x',
            openedAt: recordedAt,
            streamRevision: 0n,
          }),
        ],
      },
    })
    const second = start([next, ticketCounts])
    await second.caughtUp()
    expect((await titles(next))[ticket]).toBe('second version')
  })

  it('lets another instance wait on standby and take over', async () => {
    const ticket = fresh()
    const first = start([ticketCounts])
    await first.caughtUp()
    const second = start([ticketCounts])
    await second.caughtUp()
    expect(second.status()[0]?.state).toBe('standby')
    await first.close()
    await eventually(() => expect(second.status()[0]?.state).toBe('live'))
    await say(store, `ticket-${ticket}`, opened(ticket))
    await eventually(async () => {
      const { counts = [] } = await readRows(pool, ticketCounts)
      expect(counts.filter((row) => row['ticket_id'] === ticket)).toHaveLength(1)
    })
  })

  it('processes each event once while its database connections break repeatedly', async () => {
    const ticket = fresh()
    const runner = start([ticketBoard, ticketCounts])
    await runner.caughtUp()
    await say(store, `ticket-${ticket}`, opened(ticket))
    for (let round = 0; round < 15; round += 1) {
      await say(store, `ticket-${ticket}`, renamed(ticket, `round ${round}`))
      await breakConnections(world.database.url)
    }
    await eventually(async () => {
      const { counts = [] } = await readRows(pool, ticketCounts)
      expect(counts.filter((row) => row['ticket_id'] === ticket)).toHaveLength(16)
    })
    await eventually(async () => expect((await titles(ticketBoard))[ticket]).toBe('round 14'))
    await eventually(() => expect(runner.status().map(({ state }) => state)).toEqual(['live', 'live']))
  })

  it('reports that its database has been dropped', async () => {
    const onDatabaseGone = vi.fn()
    const lost = await freshDatabase()
    const lostPool = createPool({ url: lost.url, max: 4 })
    const runner = start([ticketCounts], { pool: lostPool, onDatabaseGone })
    await runner.caughtUp()
    await lost.drop()
    await eventually(() => expect(onDatabaseGone).toHaveBeenCalledOnce())
    await runner.close()
    await lostPool.end()
  })

  it('refuses duplicate names', () => {
    expect(
      () =>
        new ProjectionRunner({
          eventStore: store,
          pool,
          projectors: [ticketBoard, ticketBoard],
          filter,
          logger: silentLogger,
        }),
    ).toThrow('two projectors')
  })
})

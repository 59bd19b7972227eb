import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Pool } from '../../../platform/database/database.ts'
import { readCheckpoints } from '../../../engine/projections/checkpoints.ts'
import { ReadPositions } from '../../../engine/projections/read-positions.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { Fold } from '../../../engine/store/events.ts'
import { defineEvent } from '../../../engine/store/schema.ts'
import { readRows } from '../../support/given-projector.ts'
import {
  emptyDatabase,
  filter,
  openTicketStore,
  opened,
  renamed,
  say,
  silentLogger,
  ticketBoard,
  ticketCounts,
} from './tickets.ts'
import { openTicketWorld, type TicketWorld } from './ticket-world.ts'
import { eventually } from '../../support/eventually.ts'
import { stopProjector } from '../../support/stopped-projectors.ts'

let world: TicketWorld
let store: EventStore
let pool: Pool
let runner: ProjectionRunner
const readers: ReadPositions[] = []

beforeAll(async () => {
  world = await openTicketWorld({ connections: 6 })
  ;({ store, pool } = world)
})
afterAll(() => world.close())
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close()
  await runner.close()
  await emptyDatabase(pool)
})

async function startRunner(): Promise<void> {
  runner = new ProjectionRunner({
    eventStore: store,
    pool,
    projectors: [ticketBoard, ticketCounts],
    filter,
    logger: silentLogger,
    heartbeatMs: 50,
  })
  runner.start()
  await runner.caughtUp()
  await eventually(() => expect(runner.status().every(({ state }) => state === 'live')).toBe(true))
  // Before their first sign of life, nobody waits for the projectors.
  await eventually(async () => {
    const checkpoints = await readCheckpoints(pool, [ticketBoard.name, ticketCounts.name])
    expect([...checkpoints.values()].map(({ heartbeatAgeMs }) => heartbeatAgeMs)).not.toContain(null)
  })
}

function reader(options: { isInProcess: boolean; silenceMs?: number }): ReadPositions {
  const { isInProcess, ...rest } = options
  const positions = new ReadPositions({
    pool,
    projectors: [ticketBoard, ticketCounts],
    ...rest,
    ...(isInProcess ? { runner } : {}),
  })
  readers.push(positions)
  return positions
}

async function countOf(ticket: string): Promise<number> {
  return (await readRows(pool, ticketCounts))['counts']?.filter((row) => row['ticket_id'] === ticket).length ?? 0
}

let nextTicket = 0

describe.each([true, false])('reading one’s own writes, runner in the same process: %s', (isInProcess) => {
  it('waits until the read models contain the write', async () => {
    await startRunner()
    const positions = reader({ isInProcess })
    for (let round = 0; round < 20; round += 1) {
      nextTicket += 1
      const { position } = await say(store, `ticket-${nextTicket}`, opened(String(nextTicket)))
      expect(await positions.waitFor(position, ['ticket_board', 'ticket_counts'], 10_000)).toEqual({ caughtUp: true })
      expect(await countOf(String(nextTicket))).toBe(1)
    }
  })

  it('does not wait for stopped and failed projectors, nor for one that never ran', async () => {
    await startRunner()
    const positions = reader({ isInProcess })
    await stopProjector(runner, pool, 'ticket_board')
    nextTicket += 1
    const { position } = await say(store, `ticket-${nextTicket}`, opened(String(nextTicket)))
    const outcome = await positions.waitFor(position, ['ticket_board', 'ticket_counts', 'nobody'], 60_000)
    expect(outcome.caughtUp).toBe(false)
    expect(outcome.lagMs).toBeGreaterThanOrEqual(0)
    expect(await countOf(String(nextTicket))).toBe(1)
  })

  it('does not wait for a projector whose instance is silent', async () => {
    await startRunner()
    await runner.close()
    const positions = reader({ isInProcess, silenceMs: 100 })
    nextTicket += 1
    const { position } = await say(store, `ticket-${nextTicket}`, opened(String(nextTicket)))
    expect((await positions.waitFor(position, ['ticket_counts'], 60_000)).caughtUp).toBe(false)
  })

  it('gives up after its limit', async () => {
    await startRunner()
    const positions = reader({ isInProcess, silenceMs: 600_000 })
    const outcome = await positions.waitFor({ commit: 10n ** 15n, prepare: 10n ** 15n }, ['ticket_counts'], 60)
    expect(outcome.caughtUp).toBe(false)
    expect(outcome.lagMs).toBeGreaterThanOrEqual(50)
  })
})

describe('the head that a consent check requires', () => {
  const head = () => store.head(filter)

  it('is passed once everything in the log has been projected', async () => {
    await startRunner()
    nextTicket += 1
    await say(store, `ticket-${nextTicket}`, opened(String(nextTicket)), renamed(String(nextTicket), 'a'))
    expect(await reader({ isInProcess: false }).requireHead(head, 'ticket_counts', 10_000)).toBe(true)
    expect(await countOf(String(nextTicket))).toBe(2)
  })

  it('is never passed by a projector that is stopped before it', async () => {
    await startRunner()
    await stopProjector(runner, pool, 'ticket_counts')
    nextTicket += 1
    await say(store, `ticket-${nextTicket}`, opened(String(nextTicket)))
    expect(await reader({ isInProcess: true }).requireHead(head, 'ticket_counts', 100)).toBe(false)
  })

  it('is not passed by a read model during a rebuild, whatever was reported before', async () => {
    await startRunner()
    const positions = reader({ isInProcess: true })
    nextTicket += 1
    const { position } = await say(store, `ticket-${nextTicket}`, opened(String(nextTicket)))
    expect(await positions.waitFor(position, ['ticket_counts'], 10_000)).toEqual({ caughtUp: true })
    expect(await positions.requireHead(head, 'ticket_counts', 10_000)).toBe(true)
    await runner.close()
    await pool.query(`update runtime.projectors set commit_position = 0, prepare_position = 0, status = 'rebuilding'`)
    expect(await positions.requireHead(head, 'ticket_counts', 50)).toBe(false)
  })

  it('is not passed by a read model of another version, because its tables may differ', async () => {
    await startRunner()
    const positions = reader({ isInProcess: false })
    expect(await positions.requireHead(head, 'ticket_counts', 10_000)).toBe(true)
    await pool.query(`update runtime.projectors set version = version + 1 where name = 'ticket_counts'`)
    expect(await positions.requireHead(head, 'ticket_counts', 10_000)).toBe(false)
  })

  it('concerns events that the projector listens to, and events of unknown types, but no others', async () => {
    await startRunner()
    await runner.close()
    const positions = reader({ isInProcess: false })
    const isCurrent = (projector: string) => positions.requireHead((asked) => store.head(filter, asked), projector, 50)
    nextTicket += 1
    const stream = `ticket-${nextTicket}`
    await say(store, stream, { type: 'TeamWatched', data: { team: 'red', watcher: 'ann' } })
    expect([await isCurrent('ticket_counts'), await isCurrent('ticket_board')]).toEqual([true, false])
    await say(store, stream, opened(String(nextTicket)))
    expect(await isCurrent('ticket_counts')).toBe(false)
  })

  it('is read no further back than the projector’s checkpoint', async () => {
    await startRunner()
    const asked: bigint[] = []
    const known = await head()
    expect(
      await reader({ isInProcess: false }).requireHead(
        (question) => {
          asked.push(question.downTo.commit)
          return store.head(filter, question)
        },
        'ticket_counts',
        10_000,
      ),
    ).toBe(true)
    expect(asked).toEqual([known.commit])
  })

  // The last test of the file: no projector gets past such an event.
  it('is not passed before an event of an unknown type', async () => {
    await startRunner()
    await runner.close()
    const newer = await openTicketStore(world.node.url, { TicketEaten: defineEvent('TicketEaten', Type.Object({})) })
    nextTicket += 1
    const eaten: Fold<number, { readonly type: 'TicketEaten'; readonly data: object }> = {
      category: 'ticket',
      initialState: 0,
      evolve: (count) => count + 1,
    }
    await newer.append(
      { fold: eaten, stream: `ticket-${nextTicket}` },
      'no_stream',
      [{ type: 'TicketEaten', data: {} }],
      {
        commandId: randomUUID(),
        correlationId: randomUUID(),
        clientId: 'test',
      },
    )
    await newer.close()
    await say(store, 'ticket-watched', { type: 'TeamWatched', data: { team: 'red', watcher: 'ann' } })
    expect(
      await reader({ isInProcess: false }).requireHead((asked) => store.head(filter, asked), 'ticket_counts', 50),
    ).toBe(false)
  })
})

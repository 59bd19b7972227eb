import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { Type } from 'typebox'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { rebuild } from '../../../engine/rebuild/rebuild.ts'
import { defineProjector } from '../../../engine/projections/projector.ts'
import { insertRow } from '../../../engine/projections/row-changes.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { formatPosition } from '../../../platform/kit/positions.ts'
import { defineEvent } from '../../../engine/store/schema.ts'
import { freshEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { readRows } from '../../support/given-projector.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { opened, openTicketStore, say, silentLogger, ticketCounts, tickets, type TicketEvent } from './tickets.ts'
import { eventually } from '../../support/eventually.ts'

/** Handles openings only. */
const openings = defineProjector<TicketEvent>()({
  name: 'openings',
  version: 1,
  tables: [tickets],
  handlers: {
    TicketOpened: ({ data, recordedAt, revision }) => [
      insertRow(tickets, {
        ticketId: data.ticketId,
        title: data.title,
        team: data.team,
        openedAt: recordedAt,
        streamRevision: revision,
      }),
    ],
  },
})

const filter = { streamPrefixes: ['ticket-', 'ticket.events'] }

let node: TestEventStore
let store: EventStore
let outsider: EventStoreDBClient
let database: FreshDatabase
let pool: Pool
let runner: ProjectionRunner

// Such an event stays in the log, so each test has its own node.
beforeEach(async () => {
  node = await freshEventStore()
  store = await openTicketStore(node.url)
  outsider = EventStoreDBClient.connectionString(node.url)
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 12 })
  runner = new ProjectionRunner({
    eventStore: store,
    pool,
    projectors: [openings, ticketCounts],
    filter,
    logger: silentLogger,
    heartbeatMs: 50,
  })
  runner.start()
  await runner.caughtUp()
})
afterEach(async () => {
  await runner.close()
  await outsider.dispose()
  await store.close()
  await node.stop()
  await pool.end()
  await database.drop()
})

async function plant(stream: string, type: string): Promise<void> {
  await outsider.appendToStream(
    stream,
    jsonEvent({ id: randomUUID(), type, data: { ticketId: 'x' }, metadata: { secret: 'none' } }),
    { expectedRevision: 'any' },
  )
}

function states(): string[] {
  return runner.status().map(({ state }) => state)
}

async function ticketCount(): Promise<number> {
  return (await readRows(pool, openings))['tickets']?.length ?? 0
}

describe('an event that cannot be decoded', () => {
  it('stops the projectors that listen to its type, after the events before it', async () => {
    await say(store, 'ticket-1', opened('1'))
    await plant('ticket-2', 'TicketRenamed')
    await say(store, 'ticket-3', opened('3'))
    await eventually(() => expect(states()).toEqual(['live', 'failed']))
    await eventually(async () => expect(await ticketCount()).toBe(2))
    expect(runner.status()[1]?.failure).toMatchObject({
      eventType: 'TicketRenamed',
      category: 'ticket',
      reason: expect.stringMatching(/0@ticket-2 cannot be read: .+ \(malformed\)$/),
    })
    expect((await readRows(pool, ticketCounts))['counts']).toHaveLength(1)
  })

  it('ends the rebuild of a projector that listens to it, until it is skipped, and of no other', async () => {
    await say(store, 'ticket-1', opened('1'))
    await plant('ticket-2', 'TicketRenamed')
    await say(store, 'ticket-3', opened('3'))
    await eventually(() => expect(states()).toEqual(['live', 'failed']))
    await eventually(async () => expect(await ticketCount()).toBe(2))
    const context = { eventStore: store, pool, filter, logger: silentLogger }
    expect(await rebuild(context, [openings, ticketCounts])).toMatchObject([
      { kind: 'switched', comparison: { isEqual: true } },
      {
        kind: 'failed',
        failure: {
          eventType: 'TicketRenamed',
          reason: expect.stringMatching(/0@ticket-2 cannot be read: .+ \(malformed\)$/),
        },
      },
    ])
    const position = runner.status()[1]?.failure?.position
    const skips = async () => new Set(position === undefined ? [] : [formatPosition(position)])
    expect(await rebuild({ ...context, skips }, [ticketCounts])).toMatchObject([
      { kind: 'switched', status: 'rebuilding' },
    ])
    await eventually(() => expect(states()).toEqual(['live', 'live']))
    expect((await readRows(pool, ticketCounts))['counts']).toHaveLength(2)
  })

  it('of a type that only a newer program has stops every projector', async () => {
    const newer = await openTicketStore(node.url, { TicketEaten: defineEvent('TicketEaten', Type.Object({})) })
    const fold = { category: 'ticket', initialState: 0, evolve: (count: number) => count + 1 }
    await newer.append({ fold, stream: 'ticket-2' }, 'no_stream', [{ type: 'TicketEaten', data: {} }], {
      commandId: randomUUID(),
      correlationId: randomUUID(),
      clientId: 'test',
    })
    await newer.close()
    await eventually(() => expect(states()).toEqual(['failed', 'failed']))
    expect(runner.status()[0]?.failure).toMatchObject({
      eventType: 'TicketEaten',
      reason: expect.stringMatching(/0@ticket-2 cannot be read: .+ \(unknown-type\)$/),
    })
  })

  it('is skipped on a channel, where others publish too', async () => {
    await plant('ticket.events', 'foreign.news')
    await plant('ticket.events', 'ticket.opened')
    await say(store, 'ticket-1', opened('1'))
    await eventually(async () => expect(await ticketCount()).toBe(1))
    expect(states()).toEqual(['live', 'live'])
    const context = { eventStore: store, pool, filter, logger: silentLogger }
    expect(await rebuild(context, [openings])).toMatchObject([{ kind: 'switched', comparison: { isEqual: true } }])
  })
})

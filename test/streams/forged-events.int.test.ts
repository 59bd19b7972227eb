import { randomUUID } from 'node:crypto'
import {
  EventStoreDBClient,
  jsonEvent,
  NO_STREAM,
  StreamNotFoundError,
  type JSONEventType,
} from '@eventstore/db-client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPool, type Pool } from '../../platform/database/database.ts'
import type { Channel } from '../../engine/relay/channel.ts'
import { createRelay, type Relay } from '../../engine/relay/relay.ts'
import { ProjectionRunner } from '../../engine/projections/runner.ts'
import { UndecodableEventError } from '../../engine/store/errors.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { hostedEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { freshDatabase, type FreshDatabase } from '../support/postgres.ts'
import {
  closed,
  emptyDatabase,
  opened,
  openTicketStore,
  renamed,
  say,
  silentLogger,
  ticketCounts,
  ticketFold,
  type TicketEvent,
} from '../engine/projections/tickets.ts'
import { eventually } from '../support/eventually.ts'

const own = 'ticket-orgA-1'
const channel: Channel<undefined> = {
  stream: 'ticket.events',
  sources: ['ticket-'],
  organisationMember: 'org_id',
  translate: {
    TicketOpened: ({ data, recordedAt }) => [
      {
        type: 'ticket.opened',
        occurredAt: recordedAt,
        schemaVersion: 1,
        data: { ticketId: (data as { ticketId: string }).ticketId },
      },
    ],
    TicketRenamed: () => [],
  },
}

let database: FreshDatabase
let pool: Pool
let node: TestEventStore
let store: EventStore
let outsider: EventStoreDBClient
let runner: ProjectionRunner
let relay: Relay<undefined>

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 12 })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})
// A forged event stays in the log, so each test has its own node.
beforeEach(async () => {
  node = await hostedEventStore()
  store = await openTicketStore(node.url)
  outsider = EventStoreDBClient.connectionString(node.url)
  await say(store, own, opened('1'), renamed('1', 'second'))
  await say(store, own, renamed('1', 'third'))
  await say(store, 'ticket-orgA-2', opened('2'))
  await say(store, 'ticket-orgB-3', opened('3'))
  runner = new ProjectionRunner({
    eventStore: store,
    pool,
    projectors: [ticketCounts],
    filter: { streamPrefixes: ['ticket-'] },
    logger: silentLogger,
    heartbeatMs: 50,
  })
  relay = createRelay({ eventStore: store, channel, logger: silentLogger, deps: undefined, standbyMs: 30 })
  runner.start()
  relay.start()
  await runner.caughtUp()
  await eventually(() => expect(relay.status().published).toBe(3))
})
afterEach(async () => {
  await Promise.all([runner.close(), relay.close(), outsider.dispose()])
  await store.close()
  await node.stop()
  await emptyDatabase(pool)
})

interface Stored {
  readonly id: string
  readonly type: string
  readonly data: Record<string, unknown>
  readonly metadata: Record<string, unknown>
}

async function storedEvents(client: EventStoreDBClient, stream: string): Promise<Stored[]> {
  const events: Stored[] = []
  try {
    for await (const { event } of client.readStream<
      JSONEventType<string, Record<string, unknown>, Record<string, unknown>>
    >(stream)) {
      if (event !== undefined)
        events.push({ id: event.id, type: event.type, data: event.data, metadata: event.metadata ?? {} })
    }
  } catch (error) {
    if (!(error instanceof StreamNotFoundError)) throw error
  }
  return events
}

/** At the exact end: with `any`, the server treats a known id as a repeat and writes nothing. */
async function plant(stream: string, events: readonly Stored[]): Promise<void> {
  const { length } = await storedEvents(outsider, stream)
  await outsider.appendToStream(
    stream,
    events.map((event) => jsonEvent(event)),
    { expectedRevision: length === 0 ? NO_STREAM : BigInt(length - 1) },
  )
}

/** Events that the platform wrote to the same stream earlier, copied to another node. */
async function minted(stream: string, ...events: readonly TicketEvent[]): Promise<Stored[]> {
  const quarry = await hostedEventStore()
  const writer = await openTicketStore(quarry.url)
  const reader = EventStoreDBClient.connectionString(quarry.url)
  try {
    await say(writer, stream, ...events)
    return await storedEvents(reader, stream)
  } finally {
    await reader.dispose()
    await writer.close()
    await quarry.stop()
  }
}

async function reattributed(stream: string, member: string): Promise<Stored[]> {
  const [first, second] = await minted(stream, opened('1'), renamed('1', 'second'))
  if (first === undefined || second === undefined) throw new Error('two events were written')
  if (!(member in second.metadata)) throw new Error(`no member ${member}`)
  const { signature, ...metadata } = second.metadata
  return [first, { ...second, metadata: { ...metadata, [member]: 'somebody-else', signature } }]
}

describe('an event of the platform', () => {
  it('is accepted in its place, also in a copy of the log', async () => {
    await plant('ticket-orgA-4', await minted('ticket-orgA-4', opened('4'), renamed('4', 'second')))
    expect(await store.load({ fold: ticketFold, stream: 'ticket-orgA-4' })).toMatchObject({ state: 2, revision: 1n })
    await eventually(() => expect(relay.status().published).toBe(4))
    expect(runner.status()[0]?.state).toBe('live')
  })

  it.each<[string, string, bigint, () => Promise<readonly Stored[]>]>([
    [
      'moved into another stream of its organisation',
      'ticket-orgA-2',
      1n,
      async () => (await storedEvents(outsider, own)).slice(1, 2),
    ],
    [
      'moved into a stream of another organisation',
      'ticket-orgB-3',
      1n,
      async () => (await storedEvents(outsider, own)).slice(1, 2),
    ],
    [
      'moved to the start of a new stream',
      'ticket-orgA-9',
      0n,
      async () => (await storedEvents(outsider, own)).slice(0, 1),
    ],
    ['replayed after itself', own, 3n, async () => (await storedEvents(outsider, own)).slice(1, 2)],
    [
      'replayed under another id',
      own,
      3n,
      async () => (await storedEvents(outsider, own)).slice(1, 2).map((event) => ({ ...event, id: randomUUID() })),
    ],
    [
      'renamed to another type',
      'ticket-orgA-9',
      0n,
      async () =>
        (await minted('ticket-orgA-9', renamed('9', 'x'))).map((event) => ({ ...event, type: 'TicketOpened' })),
    ],
    [
      'put before its predecessor',
      'ticket-orgA-9',
      0n,
      async () => (await minted('ticket-orgA-9', opened('9'), renamed('9', 'x'))).toReversed(),
    ],
    ['attributed to another user', 'ticket-orgA-9', 1n, () => reattributed('ticket-orgA-9', 'userId')],
    ['attributed to another client', 'ticket-orgA-9', 1n, () => reattributed('ticket-orgA-9', 'clientId')],
    ['attributed to another organisation', 'ticket-orgA-9', 1n, () => reattributed('ticket-orgA-9', 'orgId')],
    ['attributed to another command', 'ticket-orgA-9', 1n, () => reattributed('ticket-orgA-9', 'commandId')],
    ['attributed to another request', 'ticket-orgA-9', 1n, () => reattributed('ticket-orgA-9', '$correlationId')],
  ])('stops read model, channel and command if it is %s', async (_, stream, revision, forge) => {
    const forged = await forge()
    const before = await store.loadCached({ fold: ticketFold, stream })
    await plant(stream, forged)

    const place = new RegExp(
      `^Ticket\\w+ [\\w-]{36} at ${revision}@${stream} cannot be read: its signature does not match: .+ \\(signature\\)$`,
    )
    await eventually(() =>
      expect(runner.status()[0]).toMatchObject({
        state: 'failed',
        failure: { category: 'ticket', reason: expect.stringMatching(place) },
      }),
    )
    await eventually(() =>
      expect(relay.status()).toMatchObject({ state: 'blocked', blockedBy: { reason: 'undecodable-event-signature' } }),
    )
    await expect(store.load({ fold: ticketFold, stream })).rejects.toThrow(place)
    await expect(say(store, stream, closed('1'))).rejects.toThrow(UndecodableEventError)
    const context = { commandId: randomUUID(), correlationId: randomUUID(), clientId: 'test', orgId: 'orgA' }
    await expect(store.append({ fold: ticketFold, stream }, before.revision, [closed('1')], context)).rejects.toThrow(
      UndecodableEventError,
    )
    const types = (await storedEvents(outsider, stream)).map(({ type }) => type)
    expect(types.slice(-forged.length)).toEqual(forged.map(({ type }) => type))
  })
})

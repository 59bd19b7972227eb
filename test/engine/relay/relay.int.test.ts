import { randomUUID } from 'node:crypto'
import { jsonEvent, EventStoreDBClient } from '@eventstore/db-client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import type { Channel } from '../../../engine/relay/channel.ts'
import { publicEventId } from '../../../engine/relay/envelope.ts'
import { createRelay, type Relay, type RelayOptions } from '../../../engine/relay/relay.ts'
import { sourceMember } from '../../../engine/relay/resume-point.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import { formatPosition } from '../../../platform/kit/positions.ts'
import { freshEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { breakConnections, freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { closed, opened, openTicketStore, renamed, say, silentLogger } from '../projections/tickets.ts'
import { eventually } from '../../support/eventually.ts'
import { channel, occurredAt, publicEvent } from './ticket-channel.ts'

const { stream } = channel

let node: TestEventStore
let store: EventStore
let database: FreshDatabase
let pool: Pool
const relays: { close(): Promise<void> }[] = []

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 6 })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})
// A channel is one stream, so each test has a node of its own.
beforeEach(async () => {
  node = await freshEventStore()
  store = await openTicketStore(node.url)
})
afterEach(async () => {
  await Promise.all(relays.splice(0).map((relay) => relay.close()))
  await store.close()
  await node.stop()
})

function start(options: Partial<RelayOptions<undefined>> = {}): Relay<undefined> {
  const relay = createRelay({
    eventStore: store,
    channel,
    logger: silentLogger,
    deps: undefined,
    standbyMs: 30,
    ...options,
  })
  relays.push(relay)
  relay.start()
  return relay
}

async function published(): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const event of store.readStream(stream, { skipForeign: true })) events.push(event)
  return events
}

async function openings(): Promise<string[]> {
  return (await published())
    .filter(({ type }) => type === 'ticket.opened')
    .map(({ data }) => (data as { ticketId: string }).ticketId)
}

describe('the relay', () => {
  it('publishes the public events of each fact, in the order of the log, with their envelope', async () => {
    await say(store, 'ticket-1', opened('1'), renamed('1', 'a'))
    start()
    const { position } = await say(store, 'ticket-2', opened('2'))
    await eventually(async () => expect(await published()).toHaveLength(4))
    const events = await published()
    expect(events.map(({ type, data }) => [type, (data as { ticketId: string }).ticketId])).toEqual([
      ['ticket.opened', '1'],
      ['ticket.audited', '1'],
      ['ticket.opened', '2'],
      ['ticket.audited', '2'],
    ])
    const source = await store.readLast('ticket-2')
    const audited = events[3]
    expect(audited?.id).toBe(publicEventId(stream, source?.id ?? '', 1))
    expect(audited?.data).toEqual({
      ticketId: '2',
      org_id: 'org-1',
      event_id: audited?.id,
      event_type: 'ticket.audited',
      occurred_at: occurredAt,
      schema_version: 1,
      causation_id: source?.id,
      correlation_id: source?.metadata.$correlationId,
      hop: 0,
    })
    expect(audited?.metadata).toMatchObject({
      source: formatPosition(position),
      $causationId: source?.id,
      $correlationId: source?.metadata.$correlationId,
    })
  })

  it('publishes each fact once while instances close and start', async () => {
    for (let round = 0; round < 6; round += 1) {
      const relay = start()
      for (let index = 0; index < 5; index += 1)
        await say(store, `ticket-${round}-${index}`, opened(`${round}-${index}`))
      // Closed at any point of its work.
      await relay.close()
    }
    start()
    await eventually(async () => expect(await openings()).toHaveLength(30))
    expect(new Set((await published()).map(({ id }) => id)).size).toBe(60)
  })

  it('publishes each fact once when three instances work at once, without a lock between them', async () => {
    start()
    start()
    const elsewhere = await openTicketStore(node.url)
    start({ eventStore: elsewhere })
    const tickets = Array.from({ length: 60 }, (_, index) => String(index))
    for (const ticket of tickets) await say(store, `ticket-${ticket}`, opened(ticket))
    await eventually(async () => expect(await openings()).toEqual(tickets))
    expect(await published()).toHaveLength(120)
    await Promise.all(relays.splice(0).map((relay) => relay.close()))
    await elsewhere.close()
  })

  it('continues from the channel after a conflict, and skips events of other writers', async () => {
    await say(store, 'ticket-1', opened('1'))
    start()
    await eventually(async () => expect(await published()).toHaveLength(2))
    const foreigner = EventStoreDBClient.connectionString(node.url)
    for (const ticket of ['2', '3', '4']) {
      await foreigner.appendToStream(
        stream,
        jsonEvent({ id: randomUUID(), type: 'foreign.news', data: { ticket }, metadata: { source: '1/1' } }),
        { expectedRevision: 'any' },
      )
      await say(store, `ticket-${ticket}`, opened(ticket))
      await eventually(async () => expect(await openings()).toContain(ticket))
    }
    expect(await openings()).toEqual(['1', '2', '3', '4'])
    expect(await published()).toHaveLength(8)
    await foreigner.dispose()
  })

  it('publishes nothing twice after an append without an answer', async () => {
    let isLost = false
    const losing: RelayOptions<undefined>['eventStore'] = {
      subscribeToAll: (options) => store.subscribeToAll(options),
      readStream: (name, options) => store.readStream(name, options),
      readLast: (name, options) => store.readLast(name, options),
      readMark: (name, member) => store.readMark(name, member),
      writeMark: (name, member, value) => store.writeMark(name, member, value),
      // For the relay this is a crash right after the append.
      appendRaw: async (name, expected, events) => {
        const appended = await store.appendRaw(name, expected, events)
        if (isLost) return appended
        isLost = true
        throw new TypeError('the answer was lost')
      },
    }
    await say(store, 'ticket-1', opened('1'))
    await say(store, 'ticket-2', opened('2'))
    start({ eventStore: losing })
    await eventually(async () => expect(await openings()).toContain('2'))
    expect(await openings()).toEqual(['1', '2'])
    expect(await published()).toHaveLength(4)
  })

  it('stores its place after a long quiet stretch in the channel’s metadata, and keeps other members', async () => {
    await store.writeMetadata(stream, { $maxCount: 1_000 })
    const relay = start({ quietEvents: 20 })
    const { position } = await say(store, 'ticket-1', ...Array.from({ length: 21 }, () => closed('1')))
    await eventually(async () => expect((await store.readMetadata(stream))[sourceMember]).toBeDefined())
    await eventually(() => expect(relay.status().position).toEqual(position))
    await relay.close()
    expect(await store.readMetadata(stream)).toMatchObject({ $maxCount: 1_000 })
    const seen: string[] = []
    const listening: Channel<undefined> = {
      ...channel,
      translate: {
        TicketClosed: ({ id }) => {
          seen.push(id)
          return []
        },
      },
    }
    start({ channel: listening, quietEvents: 20 })
    await say(store, 'ticket-1', closed('1'))
    await eventually(() => expect(seen.length).toBeGreaterThan(0))
    expect(seen.length).toBeLessThan(20)
  })

  it('publishes nothing after a fact that it cannot translate, and logs this', async () => {
    let isBroken = true
    const broken: Channel<undefined> = {
      ...channel,
      translate: {
        TicketOpened: async ({ data }) => {
          const { ticketId } = data as { ticketId: string }
          if (ticketId === '2' && isBroken) throw new RangeError('not now')
          return [publicEvent('ticket.opened', ticketId)]
        },
      },
    }
    const relay = start({ channel: broken })
    for (const ticket of ['1', '2', '3']) await say(store, `ticket-${ticket}`, opened(ticket))
    await eventually(() =>
      expect(relay.status()).toMatchObject({
        state: 'blocked',
        blockedBy: { eventType: 'TicketOpened', reason: 'RangeError' },
      }),
    )
    expect(await openings()).toEqual(['1'])
    isBroken = false
    await eventually(async () => expect(await openings()).toEqual(['1', '2', '3']))
    expect(relay.status()).toMatchObject({ state: 'running', blockedBy: undefined, published: 3 })
  })

  it('publishes facts that come together by few appends, and those before one that it cannot translate', async () => {
    const refuse = vi.fn<() => void>()
    const translate = {
      ...channel.translate,
      TicketRenamed: () => {
        refuse()
        throw new Error('of this test')
      },
    }
    const names = Array.from({ length: 30 }, (_, index) => `together ${index}`)
    for (const name of names) await say(store, `ticket-${name}`, opened(name))
    await say(store, 'ticket-together 0', renamed('together 0', 'x'))
    await say(store, 'ticket-after', opened('after'))
    const appends = vi.spyOn(store, 'appendRaw')
    const relay = start({ channel: { ...channel, translate } })
    await eventually(() => expect(refuse.mock.calls.length).toBeGreaterThan(2))
    const tickets = (await published()).map(({ data }) => (data as { ticketId: string }).ticketId)
    expect(tickets).toEqual(names.flatMap((name) => [name, name]))
    expect(appends.mock.calls.length).toBeLessThan(5)
    expect(relay.status()).toMatchObject({ state: 'blocked', blockedBy: { eventType: 'TicketRenamed' }, published: 60 })
    appends.mockRestore()
  })

  it('publishes facts one by one if the store refuses them together', async () => {
    for (const name of ['a', 'b', 'c']) await say(store, `ticket-${name}`, opened(name))
    const appendRaw = store.appendRaw.bind(store)
    const appends = vi.spyOn(store, 'appendRaw').mockImplementation(async (name, expected, events) => {
      if (events.length > 2) throw new Error('of this test')
      return appendRaw(name, expected, events)
    })
    const relay = start()
    await eventually(() => expect(relay.status()).toMatchObject({ state: 'running', published: 6 }))
    appends.mockRestore()
    expect((await published()).map(({ type }) => type)).toHaveLength(6)
  })

  it('works in one instance by an advisory lock, while another one stands by', async () => {
    const first = start({ pool })
    await eventually(() => expect(first.status().state).toBe('running'))
    const second = start({ pool })
    await say(store, 'ticket-1', opened('1'))
    await eventually(async () => expect(await openings()).toEqual(['1']))
    expect([first.status().published, second.status()]).toMatchObject([2, { state: 'standby', published: 0 }])
    await first.close()
    await say(store, 'ticket-2', opened('2'))
    await eventually(async () => expect(await openings()).toEqual(['1', '2']))
    expect(second.status().published).toBe(2)
    expect(first.status().state).toBe('closed')
  })

  it('continues after its lock connection was lost', async () => {
    start({ pool })
    await say(store, 'ticket-1', opened('1'))
    await eventually(async () => expect(await openings()).toEqual(['1']))
    await breakConnections(database.url)
    await say(store, 'ticket-2', opened('2'))
    await eventually(async () => expect(await openings()).toEqual(['1', '2']))
  })

  it('resumes on a channel whose events have all been truncated', async () => {
    const relay = start()
    await say(store, 'ticket-1', opened('1'))
    const { position } = await say(store, 'ticket-2', closed('2'))
    await eventually(() => expect(relay.status().position).toEqual(position))
    await relay.close()
    const last = await store.readLast(stream)
    await store.writeMark(stream, sourceMember, formatPosition(position))
    await store.writeMetadata(stream, { $tb: Number((last?.revision ?? 0n) + 1n) })
    expect(await published()).toEqual([])
    start()
    await say(store, 'ticket-3', opened('3'))
    await eventually(async () => expect(await openings()).toEqual(['3']))
    expect((await published())[0]?.revision).toBe(2n)
  })

  it('publishes nothing again after all events of its channel have been hidden since its last start', async () => {
    await say(store, 'ticket-1', opened('1'))
    const first = start()
    await eventually(async () => expect(await openings()).toEqual(['1']))
    const stranger = EventStoreDBClient.connectionString(node.url)
    await stranger.appendToStream(stream, jsonEvent({ type: 'alien', data: {} }))
    await stranger.dispose()
    await say(store, 'ticket-2', opened('2'))
    await eventually(async () => expect(await openings()).toEqual(['1', '2']))
    await first.close()
    const second = start()
    await eventually(() => expect(second.status().state).toBe('running'))
    await second.close()
    await store.writeMetadata(stream, { $tb: 5 })
    expect(await published()).toEqual([])
    start()
    await say(store, 'ticket-3', opened('3'))
    await eventually(async () => expect((await openings()).at(-1)).toBe('3'))
    expect(await openings()).toEqual(['3'])
  })

  it('publishes nothing again after its last events have been hidden, without a start in between', async () => {
    await say(store, 'ticket-1', opened('1'))
    const first = start({ quietMs: 20 })
    await eventually(async () => expect(await openings()).toEqual(['1']))
    const stranger = EventStoreDBClient.connectionString(node.url)
    await stranger.appendToStream(stream, jsonEvent({ type: 'alien', data: {} }))
    await stranger.dispose()
    const { position } = await say(store, 'ticket-2', opened('2'))
    await eventually(async () => expect(await openings()).toEqual(['1', '2']))
    await eventually(async () => expect(await store.readMark(stream, sourceMember)).toBe(formatPosition(position)))
    await first.close()
    await store.writeMetadata(stream, { $tb: 5 })
    start()
    await say(store, 'ticket-3', opened('3'))
    await eventually(async () => expect((await openings()).at(-1)).toBe('3'))
    expect(await openings()).toEqual(['3'])
  })

  it('notes its place also at a start whose first try failed', async () => {
    const { position } = await say(store, 'ticket-1', opened('1'))
    const first = start()
    await eventually(async () => expect(await openings()).toEqual(['1']))
    await first.close()
    const readLast = vi.spyOn(store, 'readLast').mockRejectedValueOnce(new Error('of this test'))
    const second = start()
    await eventually(() => expect(second.status().state).toBe('running'))
    expect(readLast.mock.calls.length).toBeGreaterThan(1)
    readLast.mockRestore()
    expect(await store.readMark(stream, sourceMember)).toBe(formatPosition(position))
  })
})

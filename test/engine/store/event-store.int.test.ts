import { setTimeout as sleep } from 'node:timers/promises'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  EventStoreClosedError,
  RevisionConflictError,
  StreamRevivedError,
  StreamTruncatedError,
  StreamTombstonedError,
  UndecodableEventError,
} from '../../../engine/store/errors.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { Appended, DomainEvent, Target, RecordedEvent } from '../../../engine/store/events.ts'
import { comparePositions, type Position, type StreamRevision } from '../../../platform/kit/positions.ts'
import { freshEventStore, isRealEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { MemoryKeys, newContext, noted, opened, openTestStore, visitCategory, type VisitEvent } from './fixtures.ts'

const { catalogue, category, channel, fold, stream } = visitCategory()
const vault = new MemoryKeys()
let node: TestEventStore
let store: EventStore & AsyncDisposable
let raw: EventStoreDBClient

beforeAll(async () => {
  node = await freshEventStore()
  store = await openTestStore({ url: node.url, catalogue, vault })
  raw = EventStoreDBClient.connectionString(node.url)
})

afterAll(async () => {
  await store.close()
  await raw.dispose()
  await node.stop()
})

async function collected<Event extends DomainEvent>(
  events: AsyncIterable<RecordedEvent<Event>>,
): Promise<RecordedEvent<Event>[]> {
  const all: RecordedEvent<Event>[] = []
  for await (const event of events) all.push(event)
  return all
}

/** A new fold for each call, so nothing is cached for it. */
function uncached(name: string): Target<typeof fold.initialState, VisitEvent> {
  return { fold: { ...fold }, stream: name }
}

describe('load and append', () => {
  test('an appended event is loaded, from the cache and from the stream alike', async () => {
    const name = stream()
    const context = newContext()
    await store.append({ fold, stream: name }, 'no_stream', [opened('p1', 1, 'Ada'), noted(2)], context)
    const { position } = await store.append({ fold, stream: name }, 1n, [noted(3)], newContext())

    const cached = await store.loadCached({ fold, stream: name })
    expect(cached).toEqual({ state: { rooms: [1, 2, 3], names: ['Ada'] }, revision: 2n, position })
    expect(await store.load({ fold, stream: name })).toEqual(cached)
    expect(await store.load(uncached(name))).toEqual(cached)
  })

  test('a load has what was appended before its call, whatever read is under way', async () => {
    const name = stream()
    await using other = await openTestStore({ url: node.url, catalogue, vault })
    const loads: Promise<readonly [StreamRevision, bigint]>[] = []
    let last: bigint | undefined
    for (let room = 1; room <= 20; room += 1) {
      const appended: Appended = await store.append(
        { fold, stream: name },
        last ?? 'no_stream',
        [noted(room)],
        newContext(),
      )
      const { revision } = appended
      last = revision
      for (let caller = 0; caller < 3; caller += 1)
        loads.push(other.load({ fold, stream: name }).then((loaded) => [loaded.revision, revision] as const))
    }
    for (const [loaded, appended] of await Promise.all(loads)) expect(loaded).toBeGreaterThanOrEqual(appended)
  })

  test('a stream without events loads as the initial state', async () => {
    expect(await store.load({ fold, stream: stream() })).toEqual({
      state: fold.initialState,
      revision: 'no_stream',
    })
  })

  test('the cached state stays unchanged until a fresh load reads the events of others', async () => {
    const name = stream()
    await using other = await openTestStore({ url: node.url, catalogue, vault })
    await store.append({ fold, stream: name }, 'no_stream', [noted(1)], newContext())
    await other.append({ fold, stream: name }, 0n, [noted(2)], newContext())

    expect((await store.loadCached({ fold, stream: name })).revision).toBe(0n)
    expect(await store.load({ fold, stream: name })).toMatchObject({ state: { rooms: [1, 2] }, revision: 1n })
    expect((await store.loadCached({ fold, stream: name })).revision).toBe(1n)
  })

  test('a conflict updates the cached state and contains the current revision', async () => {
    const name = stream()
    await using other = await openTestStore({ url: node.url, catalogue, vault })
    await store.append({ fold, stream: name }, 'no_stream', [noted(1)], newContext())
    await other.append({ fold, stream: name }, 0n, [noted(2)], newContext())

    const late = store.append({ fold, stream: name }, 0n, [noted(9)], newContext())
    await expect(late).rejects.toThrow(RevisionConflictError)
    await expect(late).rejects.toMatchObject({ expected: 0n, actual: 1n })
    expect(await store.loadCached({ fold, stream: name })).toMatchObject({ state: { rooms: [1, 2] }, revision: 1n })
  })

  test('an append on newer events than the cached ones does not damage the cache', async () => {
    const name = stream()
    await using other = await openTestStore({ url: node.url, catalogue, vault })
    await store.append({ fold, stream: name }, 'no_stream', [noted(1)], newContext())
    await other.append({ fold, stream: name }, 0n, [noted(2)], newContext())
    await store.append({ fold, stream: name }, 1n, [noted(3)], newContext())
    expect(await store.load({ fold, stream: name })).toMatchObject({ state: { rooms: [1, 2, 3] }, revision: 2n })
  })

  test('the same command appended again is one append, also much later and in another process', async () => {
    const name = stream()
    const context = newContext()
    const first = await store.append({ fold, stream: name }, 'no_stream', [noted(1), noted(2)], context)
    await store.append({ fold, stream: name }, 1n, [noted(3)], newContext())
    await using other = await openTestStore({ url: node.url, catalogue, vault })

    expect(await store.append({ fold, stream: name }, 'no_stream', [noted(1), noted(2)], context)).toEqual(first)
    expect(await other.append({ fold, stream: name }, 'no_stream', [noted(1), noted(2)], context)).toEqual(first)
    expect((await store.load({ fold, stream: name })).state.rooms).toEqual([1, 2, 3])
  })

  test('exactly one of fifty parallel appends to one new stream succeeds', async () => {
    const name = stream()
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, room) =>
        store.append({ fold, stream: name }, 'no_stream', [noted(room)], newContext()),
      ),
    )

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const losers = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    expect(losers.every((reason) => reason instanceof RevisionConflictError)).toBe(true)
    expect((await store.load(uncached(name))).revision).toBe(0n)
  })

  test('appends return rising positions: those at which a reader finds their last event', async () => {
    const name = stream()
    const first = await store.append({ fold, stream: name }, 'no_stream', [noted(1), noted(2)], newContext())
    const second = await store.append({ fold, stream: name }, 1n, [noted(3)], newContext())
    const events = await collected(store.readStream(name))

    expect(comparePositions(first.position, second.position)).toBeLessThan(0)
    expect(events.map(({ position }) => position).slice(1)).toEqual([first.position, second.position])
  })

  test('an append to a soft-deleted stream fails with its own error, because the server keeps counting and readers refuse the event', async () => {
    const name = stream()
    await store.append({ fold, stream: name }, 'no_stream', [noted(1), noted(2), noted(3)], newContext())
    await raw.deleteStream(name)
    // For a moment, a real server's writer uses the state before the delete, and the stream would stay hidden.
    if (isRealEventStore) await sleep(500)

    expect(await store.load(uncached(name))).toEqual({ state: fold.initialState, revision: 'no_stream' })
    await expect(store.append(uncached(name), 'no_stream', [noted(4)], newContext())).rejects.toThrow(
      StreamRevivedError,
    )
    await expect(store.load(uncached(name))).rejects.toMatchObject({
      code: 'undecodable-event-signature',
      head: { revision: 3n },
    })
  })

  test.each([{ $tb: 1 }, { $maxCount: 2 }])(
    'a stream whose first event is hidden by %j is refused, not folded from the rest',
    async (hiding) => {
      const name = stream()
      await store.append({ fold, stream: name }, 'no_stream', [noted(1), noted(2), noted(3)], newContext())
      await store.writeMetadata(name, hiding)

      await expect(store.load(uncached(name))).rejects.toThrow(StreamTruncatedError)
      await expect(store.load(uncached(name))).rejects.toThrow(`${name} does not show its event at revision 0`)
      expect((await collected(store.readStream(name, { from: 1n }))).map(({ revision }) => revision)).toEqual([1n, 2n])
      expect((await store.load({ fold, stream: name })).state.rooms).toEqual([1, 2, 3])
    },
  )

  test('a stream whose events are all hidden is refused for a reader of the whole stream', async () => {
    const [name, deleted, absent] = [stream(), stream(), stream()]
    for (const each of [name, deleted])
      await store.append({ fold, stream: each }, 'no_stream', [noted(1)], newContext())
    await store.writeMetadata(name, { $tb: 9 })
    await raw.deleteStream(deleted)

    for (const each of [name, deleted])
      await expect(collected(store.readStream(each, { isWhole: true }))).rejects.toThrow(StreamTruncatedError)
    expect(await collected(store.readStream(absent, { isWhole: true }))).toEqual([])
  })

  test('a tombstoned stream refuses reads and appends with its own error', async () => {
    const name = stream()
    await store.append({ fold, stream: name }, 'no_stream', [noted(1)], newContext())
    await raw.tombstoneStream(name)

    await expect(store.append({ fold, stream: name }, 0n, [noted(2)], newContext())).rejects.toThrow(
      StreamTombstonedError,
    )
    await expect(store.load(uncached(name))).rejects.toThrow(StreamTombstonedError)
  })

  test('an erased subject reads as null, and the rest of its events stays', async () => {
    const name = stream()
    await store.append({ fold, stream: name }, 'no_stream', [opened('erased', 1, 'Ada')], newContext())
    vault.destroy('org', 'erased')

    expect(await store.load(uncached(name))).toMatchObject({ state: { rooms: [1], names: [null] } })
    await store.append({ fold, stream: name }, 0n, [opened('erased', 2, 'Ada again')], newContext())
    expect((await store.loadCached({ fold, stream: name })).state.names).toEqual(['Ada', null])
    store.forgetStates()
    expect((await store.loadCached({ fold, stream: name })).state.names).toEqual([null, null])
    for await (const resolved of raw.readStream(name)) expect(JSON.stringify(resolved.event?.data)).not.toContain('Ada')
  })

  test('a load that began before states are forgotten leaves nothing in the cache', async () => {
    const name = stream()
    await store.append({ fold, stream: name }, 'no_stream', [opened('p1', 1, 'Ada')], newContext())
    store.forgetStates()
    const loading = store.load({ fold, stream: name })
    store.forgetStates()
    expect((await loading).state.names).toEqual(['Ada'])
    expect(store.presume({ fold, stream: name }).revision).toBe('no_stream')
  })
})

describe('reading', () => {
  test('a stream is read in both directions, from any place and up to a limit', async () => {
    const name = stream()
    await store.append(
      { fold, stream: name },
      'no_stream',
      [1, 2, 3, 4, 5].map((room) => noted(room)),
      newContext(),
    )
    const rooms = async (options: Parameters<EventStore['readStream']>[1]) =>
      (await collected(store.readStream<VisitEvent>(name, options))).map(({ data }) => data.room)

    expect(await rooms({})).toEqual([1, 2, 3, 4, 5])
    expect(await rooms({ from: 3n })).toEqual([4, 5])
    expect(await rooms({ from: 9n })).toEqual([])
    expect(await rooms({ direction: 'backwards' })).toEqual([5, 4, 3, 2, 1])
    expect(await rooms({ from: 1n, direction: 'backwards' })).toEqual([2, 1])
    expect(await rooms({ limit: 2 })).toEqual([1, 2])
    expect((await store.readLast<VisitEvent>(name))?.data.room).toBe(5)
    expect(await store.readLast(stream())).toBeUndefined()
  })

  test('events contain caller, cause and signature', async () => {
    const name = stream()
    const context = { ...newContext(), causationId: 'cause', traceparent: '00-trace' }
    await store.append({ fold, stream: name }, 'no_stream', [noted(1)], context)

    const metadata = (await store.readLast(name))?.metadata
    expect(metadata).toEqual({
      commandId: context.commandId,
      $correlationId: context.correlationId,
      $causationId: 'cause',
      orgId: 'org',
      clientId: 'client',
      requestId: 'request',
      traceparent: '00-trace',
      schemaVersion: 1,
      signature: expect.stringMatching(/^[\w-]{43}$/),
    })
  })

  test('channel events are appended with given ids and the position of their source', async () => {
    const id = crypto.randomUUID()
    const metadata = { commandId: id, $correlationId: id, orgId: 'org', source: '12/12' }
    const event = { id, type: `${category}.opened`, data: { visit_id: 'v' }, metadata }
    const first = await store.appendRaw(channel, 'no_stream', [event])

    expect(await store.appendRaw(channel, 'no_stream', [event])).toEqual(first)
    expect(await store.readLast(channel)).toMatchObject({ id, data: { visit_id: 'v' }, metadata: { source: '12/12' } })
  })

  test('foreign events on a channel are skipped on request, and errors otherwise', async () => {
    await raw.appendToStream(channel, {
      id: crypto.randomUUID(),
      type: 'alien',
      contentType: 'application/json',
      data: {},
      metadata: {},
    })

    expect(await store.readLast(channel, { skipForeign: true })).toMatchObject({ type: `${category}.opened` })
    await expect(store.readLast(channel)).rejects.toThrow(UndecodableEventError)
  })

  test('a write of metadata keeps the other members', async () => {
    const name = stream()
    await store.append({ fold, stream: name }, 'no_stream', [noted(1), noted(2), noted(3)], newContext())
    await Promise.all([store.writeMetadata(name, { $maxCount: 2 }), store.writeMetadata(name, { source: '7/7' })])

    expect(await store.readMetadata(name)).toEqual({ $maxCount: 2, source: '7/7' })
    expect(await store.readMetadata(stream())).toEqual({})
    expect(
      (await collected(store.readStream<VisitEvent>(name, { direction: 'backwards' }))).map(({ data }) => data.room),
    ).toEqual([3, 2])
  })

  test('the head is the newest event that passes the filter', async () => {
    const { position } = await store.append({ fold, stream: stream('head') }, 'no_stream', [noted(1)], newContext())
    const filter = { streamPrefixes: [`${category}-org-head`] }
    let last: Position = position
    for (let index = 0; index < 40; index += 1) {
      last = (await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).position
    }
    await raw.setStreamMetadata(stream(), { maxCount: 3 })

    expect(await store.head(filter)).toEqual(position)
    expect(await store.head({ streamPrefixes: [`${category}-`] })).toEqual(last)
    expect(await store.head({ streamPrefixes: [`${category}-nobody`] }, { downTo: position })).toEqual(position)
    expect(await store.head(filter, { downTo: last })).toEqual(last)
  })

  test('the head of wanted types is the newest event of these types, or of an unknown type', async () => {
    const id = stream('wanted')
    const filter = { streamPrefixes: [id] }
    const { position: before } = await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    const { position: first } = await store.append(
      { fold, stream: id },
      'no_stream',
      [opened('p1', 1, 'Ada')],
      newContext(),
    )
    const { position: newest } = await store.append({ fold, stream: id }, 0n, [noted(2), noted(3)], newContext())
    const wants = (type: string) => type === 'VisitOpened'

    expect(await store.head(filter, { wants })).toEqual(first)
    expect(await store.head(filter, { wants, downTo: before })).toEqual(first)
    expect(await store.head(filter, { wants, downTo: first })).toEqual(first)
    expect(await store.head(filter, { wants: () => false, downTo: before })).toEqual(before)
    expect(await store.head(filter, { wants: () => true })).toEqual(newest)

    const unknown = await raw.appendToStream(id, jsonEvent({ type: 'VisitUndone', data: {} }))
    await store.append({ fold, stream: id }, 3n, [noted(4)], newContext())
    expect((await store.head(filter, { wants, downTo: first })).commit).toEqual(unknown.position?.commit)
  })

  test('the head behind hundreds of unwanted events is the newest of them, because it is behind all wanted ones', async () => {
    const id = stream('unwanted')
    const filter = { streamPrefixes: [id] }
    const wants = (type: string) => type === 'VisitOpened'
    const { position: first } = await store.append(
      { fold, stream: id },
      'no_stream',
      [opened('p1', 1, 'Ada')],
      newContext(),
    )
    await store.append(
      { fold, stream: id },
      0n,
      Array.from({ length: 498 }, (_, room) => noted(room)),
      newContext(),
    )
    const { position: early } = await store.append({ fold, stream: id }, 498n, [noted(0)], newContext())
    expect(await store.head(filter, { wants })).toEqual(first)
    const { position: late } = await store.append({ fold, stream: id }, 499n, [noted(0)], newContext())
    expect(comparePositions(early, late)).toBeLessThan(0)
    expect(await store.head(filter, { wants })).toEqual(late)
    expect(await store.head(filter, { wants, downTo: early })).toEqual(early)
  })

  test('no read returns system events', async () => {
    const name = stream()
    await store.append({ fold, stream: name }, 'no_stream', [noted(1)], newContext())
    const { position } = await store.append({ fold, stream: name }, 0n, [noted(2)], newContext())
    await raw.setStreamMetadata(name, { maxCount: 10 })

    if (!isRealEventStore) expect(await store.head({ streamPrefixes: [] })).toEqual(position)
    expect((await collected(store.readStream(name))).map(({ type }) => type)).toEqual(['VisitNoted', 'VisitNoted'])
  })

  test('abandoned reads do not keep a store from closing', async () => {
    const name = stream()
    const leaving = await openTestStore({ url: node.url, catalogue, vault })
    await store.append(
      { fold, stream: name },
      'no_stream',
      Array.from({ length: 40 }, (_, room) => noted(room)),
      newContext(),
    )
    for await (const event of leaving.readStream(name)) {
      expect(event.revision).toBe(0n)
      break
    }
    await leaving.head({ streamPrefixes: [name] })

    await expect(leaving.close()).resolves.toBeUndefined()
  })

  test('a closed store refuses every call', async () => {
    const closed = await openTestStore({ url: node.url, catalogue, vault })
    await closed.close()

    await expect(closed.loadCached({ fold, stream: stream() })).rejects.toThrow(EventStoreClosedError)
    await expect(closed.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).rejects.toThrow(
      EventStoreClosedError,
    )
  })
})

import streams from '@eventstore/db-client/generated/streams_pb.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  EventStoreRefusedError,
  EventStoreUnavailableError,
  UnknownEventTypeError,
} from '../../../engine/store/errors.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import type { LogBatch, LogRead } from '../../../engine/store/log-reading.ts'
import { startOfLog, type Position } from '../../../platform/kit/positions.ts'
import { createSigner } from '../../../engine/store/signature.ts'
import { freshEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { MemoryKeys, newContext, noted, opened, openTestStore, visitCategory } from './fixtures.ts'
import { accessRefused, ScriptedServer, unavailable, type ReadCall } from './scripted-server.ts'
import { wireEvent } from './wire-messages.ts'

const { category, catalogue, fold, stream } = visitCategory()
const filter = { streamPrefixes: [`${category}-`] }
const vault = new MemoryKeys()
const signer = createSigner(vault.signingKey)

async function batchesOf(store: EventStore, read: Omit<LogRead, 'filter'>): Promise<LogBatch[]> {
  const batches: LogBatch[] = []
  for await (const batch of store.readLog({ filter, opens: all, ...read })) batches.push(batch)
  return batches
}

const eventsOf = (batches: readonly LogBatch[]): RecordedEvent[] => batches.flatMap(({ events }) => events)
const all = (): boolean => true

describe('a range of the log', () => {
  let node: TestEventStore
  let store: EventStore
  let before: Position
  let written: RecordedEvent[]

  beforeAll(async () => {
    node = await freshEventStore()
    store = await openTestStore({ url: node.url, catalogue, vault })
    before = await store.head({ streamPrefixes: [] })
    const name = stream()
    await store.append(
      { fold, stream: name },
      'no_stream',
      [opened('patient', 0, 'Ada'), noted(1, 'née Ünsal')],
      newContext(),
    )
    await store.append(
      { fold, stream: stream() },
      'no_stream',
      Array.from({ length: 40 }, (_, room) => noted(room)),
      newContext(),
    )
    await store.append({ fold, stream: name }, 1n, [opened('patient', 2, 'Grace'), noted(3)], newContext())
    written = []
    for await (const event of store.readStream(name)) written.push(event)
  })

  afterAll(async () => {
    await store.close()
    await node.stop()
  })

  test('is decoded like a stream, in order, up to its end', async () => {
    const upTo = await store.head(filter)
    const batches = await batchesOf(store, { after: before, upTo, wants: all, batchSize: 10 })
    const events = eventsOf(batches)

    expect(events).toHaveLength(44)
    expect(events.filter(({ stream: name }) => name === written[0]?.stream)).toEqual(written)
    expect(events.map(({ position }) => position.commit)).toEqual(
      events.map(({ position }) => position.commit).toSorted((a, b) => (a < b ? -1 : 1)),
    )
    expect(batches.every(({ events: some }) => some.length <= 10)).toBe(true)
    expect(batches.at(-1)?.position).toEqual(upTo)
  })

  test('skips unwanted events without decoding them', async () => {
    const strangers = await openTestStore({ url: node.url, catalogue, vault: new MemoryKeys() })
    const upTo = await store.head(filter)
    const batches = await batchesOf(strangers, { after: before, upTo, wants: () => false, batchSize: 5 })
    const wanted = await batchesOf(store, {
      after: before,
      upTo,
      wants: (type) => type === 'VisitOpened',
      batchSize: 100,
    })
    await strangers.close()

    expect(eventsOf(batches)).toEqual([])
    expect(batches.flatMap(({ undecodable }) => undecodable)).toEqual([])
    expect(batches.length).toBeGreaterThan(1)
    expect(batches.at(-1)?.position).toEqual(upTo)
    expect(eventsOf(wanted)).toEqual(written.filter(({ type }) => type === 'VisitOpened'))
  })

  test('reports undecodable events in their place, and returns the others', async () => {
    const keyless = await openTestStore({ url: node.url, catalogue, vault: withoutSubjects(vault) })
    const upTo = await store.head(filter)
    const read = { after: before, upTo, batchSize: 1_000 }
    const unsigned = await openTestStore({ url: node.url, catalogue, vault: new MemoryKeys() })
    const [unread] = await batchesOf(unsigned, { ...read, wants: all })
    const [sealed] = await batchesOf(keyless, { ...read, wants: all })
    await Promise.all([keyless, unsigned].map((each) => each.close()))

    expect(unread?.undecodable.map(({ reason }) => reason)).toEqual(Array.from({ length: 44 }, () => 'signature'))
    expect(sealed?.events).toHaveLength(42)
    expect(sealed?.undecodable.map(({ reason, head }) => [reason, head.revision])).toEqual([
      ['key-missing', 0n],
      ['key-missing', 2n],
    ])
  })

  test('starts after its start and ends at its end', async () => {
    const [first, second, third, fourth] = written
    if (first === undefined || second === undefined || third === undefined || fourth === undefined)
      throw new Error('four were written')
    const inner = await batchesOf(store, { after: first.position, upTo: third.position, wants: all, batchSize: 1_000 })
    const events = eventsOf(inner)

    expect(events).toHaveLength(42)
    expect(events.at(0)).toEqual(second)
    expect(events.at(-1)).toEqual(third)
    expect(
      await batchesOf(store, { after: fourth.position, upTo: fourth.position, wants: all, batchSize: 10 }),
    ).toEqual([])
  })

  test('ends with the reason of an abort', async () => {
    const abort = new AbortController()
    const upTo = await store.head(filter)
    const reading = store.readLog({ filter, after: before, upTo, wants: all, batchSize: 2, signal: abort.signal })
    await reading.next()
    abort.abort(new Error('enough'))

    const rest = async (): Promise<void> => {
      for await (const { events } of reading) expect(events.length).toBeLessThanOrEqual(2)
    }
    await expect(rest()).rejects.toThrow('enough')
  })
})

/** A vault that has lost the keys of all subjects. */
function withoutSubjects(whole: MemoryKeys): MemoryKeys {
  const bare = new MemoryKeys()
  bare.signingKey = whole.signingKey
  return bare
}

/** Writes events at these positions. */
function writes(call: ReadCall, places: readonly number[]): void {
  for (const place of places) call.write(event(place))
}

function event(place: number, type = 'VisitNoted', streamName = `${category}-org-1`) {
  const id = `00000000-0000-4000-8000-${String(place).padStart(12, '0')}`
  const data = JSON.stringify({ room: place })
  const head = { id, stream: streamName, type }
  const unsigned = JSON.stringify({ commandId: id, $correlationId: id, schemaVersion: 1 })
  const metadata = signer.sign({ ...head, revision: BigInt(place) }, data, unsigned)
  return wireEvent({ ...head, revision: place, position: place, data, metadata })
}

const at = (place: number): Position => ({ commit: BigInt(place), prepare: BigInt(place) })
const isBackwards = (call: ReadCall): boolean =>
  call.request.getOptions()?.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS
const placesOf = (batches: readonly LogBatch[]): number[] =>
  eventsOf(batches).map(({ position }) => Number(position.commit))

describe('a server that sends a range in parts', () => {
  test('a broken read resumes at the same place, each event once', async () => {
    await using server = await ScriptedServer.start({
      onRead: (call, number) => {
        if (number === 1) {
          writes(call, [1, 2, 3, 4])
          unavailable(call)
        } else {
          writes(call, [2, 3, 4, 5, 6, 7])
          call.end()
        }
      },
    })
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const batches = await batchesOf(store, { after: startOfLog, upTo: at(6), wants: all, batchSize: 2 })

    expect(new Set(placesOf(batches))).toEqual(new Set([1, 2, 3, 4, 5, 6]))
    expect(placesOf(batches)).toHaveLength(6)
    expect(batches.at(-1)?.position).toEqual(at(6))
    expect(server.reads.length).toBeGreaterThan(1)
  })

  test('the end of the call is not the end of the range while the log holds more of it', async () => {
    let forwards = 0
    await using server = await ScriptedServer.start({
      onRead: (call) => {
        if (isBackwards(call)) writes(call, [9, 5])
        else {
          forwards += 1
          writes(call, forwards === 1 ? [1, 2] : [2, 3, 4, 5])
        }
        call.end()
      },
    })
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const batches = await batchesOf(store, { after: startOfLog, upTo: at(6), wants: all, batchSize: 2 })

    expect(placesOf(batches)).toEqual([1, 2, 3, 4, 5])
    expect(batches.at(-1)?.position).toEqual(at(6))
  })

  test('a range is complete if only the server writes after its last event', async () => {
    await using server = await ScriptedServer.start({
      onRead: (call) => {
        if (isBackwards(call)) {
          call.write(event(6, '$statistics', '$stats'))
          writes(call, [2, 1])
        } else {
          writes(call, [1, 2])
          call.write(event(4, '$statistics', '$stats'))
        }
        call.end()
      },
    })
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const batches = await batchesOf(store, { after: startOfLog, upTo: at(6), wants: all, batchSize: 10 })

    expect(placesOf(batches)).toEqual([1, 2])
    expect(batches.at(-1)).toMatchObject({ considered: 2, position: at(6) })
  })

  test('a log that ends before the range is incomplete, and the read goes to the leader', async () => {
    await using server = await ScriptedServer.start({
      onRead: (call) => {
        writes(call, isBackwards(call) ? [2, 1] : [1, 2])
        call.end()
      },
    })
    await using store = await openTestStore({ url: server.url, catalogue, vault, readBudgetMs: 200 })

    await expect(batchesOf(store, { after: startOfLog, upTo: at(6), wants: all, batchSize: 10 })).rejects.toThrow(
      EventStoreUnavailableError,
    )
    expect(
      server.reads.some(({ options }) => options?.readDirection === streams.ReadReq.Options.ReadDirection.BACKWARDS),
    ).toBe(true)
    expect(server.readsOfLeader).toBe(server.reads.length)
  })

  test('an unknown type is returned, wanted or not', async () => {
    await using server = await ScriptedServer.start({
      onRead: (call) => {
        call.write(event(1, 'VisitDreamt'))
        call.write(event(2, 'VisitDreamt', 'elsewhere-org-1'))
        writes(call, [3])
        call.end()
      },
    })
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const [batch] = await batchesOf(store, { after: startOfLog, upTo: at(3), wants: () => false, batchSize: 10 })

    expect(batch?.undecodable).toEqual([expect.any(UnknownEventTypeError)])
    expect(batch?.undecodable[0]?.head.position).toEqual(at(1))
  })

  test('refusals and outages are separate errors', async () => {
    await using refusing = await ScriptedServer.start({ onRead: accessRefused })
    await using away = await ScriptedServer.start({ onRead: unavailable })
    await using refused = await openTestStore({ url: refusing.url, catalogue, vault })
    await using cut = await openTestStore({ url: away.url, catalogue, vault, readBudgetMs: 200 })
    const read = { after: startOfLog, upTo: at(3), wants: all, batchSize: 10 }

    await expect(batchesOf(refused, read)).rejects.toThrow(EventStoreRefusedError)
    expect(refusing.reads).toHaveLength(1)
    await expect(batchesOf(cut, read)).rejects.toThrow(EventStoreUnavailableError)
    expect(away.reads.length).toBeGreaterThan(1)
  })
})

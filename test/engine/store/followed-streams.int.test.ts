import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { freshEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { UndecodableEventError } from '../../../engine/store/errors.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import type { RunningSubscription } from '../../../engine/store/subscription-options.ts'
import type { Position } from '../../../platform/kit/positions.ts'
import { MemoryKeys, newContext, noted, openTestStore, until, visitCategory } from './fixtures.ts'

const { catalogue, category, channel, fold, stream } = visitCategory()
const vault = new MemoryKeys()
let node: TestEventStore
/** The store of this process, and one of another process. */
let store: EventStore & AsyncDisposable
let other: EventStore & AsyncDisposable
let reads: number
let seen: RecordedEvent[]
let handle: (events: readonly RecordedEvent[]) => Promise<void> | void
let stop: () => Promise<void>

beforeAll(async () => {
  node = await freshEventStore()
})
afterAll(() => node.stop())

beforeEach(async () => {
  store = await openTestStore({ url: node.url, catalogue, vault })
  other = await openTestStore({ url: node.url, catalogue, vault })
  const readStream = store.readStream.bind(store)
  vi.spyOn(store, 'readStream').mockImplementation((...asked) => {
    reads += 1
    return readStream(...asked)
  })
  reads = 0
  seen = []
  handle = () => undefined
  stop = await follow('start')
})
afterEach(async () => {
  await stop()
  await store.close()
  await other.close()
})

/** Begins the live read. Resolves when it is live, with how to end it. */
async function follow(from: Position | 'start'): Promise<() => Promise<void>> {
  const ending = new AbortController()
  const subscription: RunningSubscription = store.subscribeToAll({
    name: 'projections',
    filter: { streamPrefixes: [`${category}-org-`, channel] },
    from,
    isFollowed: true,
    signal: ending.signal,
    onBatch: async (events) => {
      await handle(events)
      seen.push(...events)
    },
    onUndecodable: () => undefined,
  })
  await until(() => subscription.stats().caughtUp)
  return async () => {
    ending.abort()
    await subscription.ended
  }
}

/** Lets the handler of the next events wait. Resolves when it waits, with how to let it go on. */
async function heldUp(): Promise<() => void> {
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  handle = () => {
    begun.resolve()
    return held.promise
  }
  await other.append({ fold, stream: stream() }, 'no_stream', [noted(9)], newContext())
  await begun.promise
  return held.resolve
}

const shows = (name: string, count: number) =>
  until(() => seen.filter((event) => event.stream === name).length === count)

async function roomsOf(name: string): Promise<readonly number[]> {
  return (await store.loadFollowed({ fold, stream: name })).state.rooms
}

describe('the states of a process that follows the log', () => {
  test('advance with the events of other processes, without a read', async () => {
    const target = { fold, stream: stream() }
    const { revision } = await other.append(target, 'no_stream', [noted(1)], newContext())
    await shows(target.stream, 1)
    expect(await roomsOf(target.stream)).toEqual([1])
    expect(reads).toBe(1)
    const further = await other.append(target, revision, [noted(2), noted(3)], newContext())
    await shows(target.stream, 3)
    expect(await roomsOf(target.stream)).toEqual([1, 2, 3])
    expect((await store.loadFollowed(target, further.position)).revision).toBe(2n)
    expect(reads).toBe(1)
  })

  test('are read when they must be newer than the live read', async () => {
    const target = { fold, stream: stream() }
    const { revision } = await store.append(target, 'no_stream', [noted(1)], newContext())
    await shows(target.stream, 1)
    const held = Promise.withResolvers<void>()
    handle = () => held.promise
    const { position } = await other.append({ fold, stream: stream() }, 'no_stream', [noted(9)], newContext())
    const behind = await other.append(target, revision, [noted(2)], newContext())
    expect((await store.loadFollowed(target, position)).revision).toBeGreaterThanOrEqual(0n)
    expect((await store.loadFollowed(target, behind.position)).state.rooms).toEqual([1, 2])
    held.resolve()
  })

  test('of a stream outside the live read are read each time', async () => {
    const target = { fold, stream: `${category}-elsewhere-${stream()}` }
    await other.append(target, 'no_stream', [noted(1)], newContext())
    for (const count of [1, 2]) {
      expect(await roomsOf(target.stream)).toEqual([1])
      expect(reads).toBe(count)
    }
    expect(store.watch(target.stream, () => undefined)).toBeUndefined()
  })

  test('are read once the live read ends, although its handler is still at work', async () => {
    const target = { fold, stream: stream() }
    await store.append(target, 'no_stream', [noted(1)], newContext())
    await shows(target.stream, 1)
    const goOn = await heldUp()
    const stopped = stop()
    await other.append(target, 0n, [noted(2)], newContext())
    expect(await roomsOf(target.stream)).toEqual([1, 2])
    goOn()
    await stopped
  })

  test('of an earlier live read are read again: the next one may not show what came between', async () => {
    const target = { fold, stream: stream() }
    await store.append(target, 'no_stream', [noted(1)], newContext())
    await shows(target.stream, 1)
    await stop()
    const { position } = await other.append(target, 0n, [noted(2)], newContext())
    stop = await follow(position)
    expect(await roomsOf(target.stream)).toEqual([1, 2])
  })

  test('of a stream with an event that cannot be read do not hide that event', async () => {
    const target = { fold, stream: stream() }
    await store.append(target, 'no_stream', [noted(1)], newContext())
    await shows(target.stream, 1)
    const metadata = { commandId: randomUUID(), $correlationId: randomUUID() }
    const forged = { id: randomUUID(), ...noted(2), metadata }
    const stranger = await openTestStore({ url: node.url, catalogue, vault: new MemoryKeys() })
    await stranger.appendRaw(target.stream, 0n, [forged])
    await stranger.close()
    const later = stream()
    await other.append({ fold, stream: later }, 'no_stream', [noted(3)], newContext())
    await shows(later, 1)
    await expect(store.loadFollowed(target)).rejects.toBeInstanceOf(UndecodableEventError)
  })

  test('an event of a channel that the live read has shown is not read again', async () => {
    const event = {
      id: randomUUID(),
      type: `${category}.opened`,
      data: { visit_id: 'v' },
      metadata: { commandId: randomUUID(), $correlationId: randomUUID() },
    }
    await other.appendRaw(channel, 'no_stream', [event])
    await shows(channel, 1)
    expect((await store.readAt(channel, 0n))?.data).toEqual({ visit_id: 'v' })
    expect(reads).toBe(0)
    expect(await store.readAt(channel, 1n)).toBeUndefined()
    expect(reads).toBe(1)
  })

  test('are read while a handler holds up the live read', async () => {
    const target = { fold, stream: stream() }
    await store.append(target, 'no_stream', [noted(1)], newContext())
    await shows(target.stream, 1)
    const goOn = await heldUp()
    await other.append(target, 0n, [noted(2)], newContext())
    expect(await roomsOf(target.stream)).toEqual([1])
    const now = performance.now()
    const clock = vi.spyOn(performance, 'now').mockReturnValue(now + 5_000)
    expect(await roomsOf(target.stream)).toEqual([1, 2])
    clock.mockRestore()
    goOn()
  })

  test('are read again if the live read has shown an event while they were read', async () => {
    const target = { fold, stream: stream() }
    await other.append(target, 'no_stream', [noted(1)], newContext())
    await shows(target.stream, 1)
    const readStream = other.readStream.bind(other)
    // The read ends before the second event. The live read shows that event before the caller has the answer.
    vi.spyOn(store, 'readStream').mockImplementationOnce(async function* (name, options) {
      yield* readStream(name, options)
      await other.append(target, 0n, [noted(2)], newContext())
      await shows(target.stream, 2)
    })
    expect(await roomsOf(target.stream)).toEqual([1])
    expect(await roomsOf(target.stream)).toEqual([1, 2])
  })

  test('are read again if the live read has passed over an event while they were read', async () => {
    const target = { fold, stream: stream() }
    await other.append(target, 'no_stream', [noted(1)], newContext())
    await shows(target.stream, 1)
    const metadata = { commandId: randomUUID(), $correlationId: randomUUID() }
    const stranger = await openTestStore({ url: node.url, catalogue, vault: new MemoryKeys() })
    const readStream = other.readStream.bind(other)
    vi.spyOn(store, 'readStream').mockImplementationOnce(async function* (name, options) {
      yield* readStream(name, options)
      await stranger.appendRaw(target.stream, 0n, [{ id: randomUUID(), ...noted(2), metadata }])
      const later = stream()
      await other.append({ fold, stream: later }, 'no_stream', [noted(3)], newContext())
      await shows(later, 1)
    })
    expect(await roomsOf(target.stream)).toEqual([1])
    await stranger.close()
    await expect(store.loadFollowed(target)).rejects.toBeInstanceOf(UndecodableEventError)
  })

  test('do not follow from an append that repeats one before events that the live read has shown', async () => {
    const target = { fold, stream: stream() }
    const context = newContext()
    await other.append(target, 'no_stream', [noted(1)], context)
    await other.append(target, 0n, [noted(2)], newContext())
    await shows(target.stream, 2)
    expect(await store.append(target, 'no_stream', [noted(1)], context)).toMatchObject({ revision: 0n })
    expect(await roomsOf(target.stream)).toEqual([1, 2])
  })

  test('a watch is called after appends of this process and of others', async () => {
    const target = { fold, stream: stream() }
    let calls = 0
    const end = store.watch(target.stream, () => (calls += 1))
    const goOn = await heldUp()
    await store.append(target, 'no_stream', [noted(1)], newContext())
    expect(calls).toBe(1)
    goOn()
    await shows(target.stream, 1)
    const before = calls
    await other.append(target, 0n, [noted(2)], newContext())
    await until(() => calls > before)
    end?.()
    const after = calls
    await other.append(target, 1n, [noted(3)], newContext())
    await shows(target.stream, 3)
    expect(calls).toBe(after)
  })
})

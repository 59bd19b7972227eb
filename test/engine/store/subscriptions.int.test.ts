import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import type { Position } from '../../../platform/kit/positions.ts'
import { freshEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { MemoryKeys, newContext, noted, opened, openTestStore, until, visitCategory } from './fixtures.ts'

const { catalogue, category, fold, stream } = visitCategory()
const vault = new MemoryKeys()
const filter = { streamPrefixes: [`${category}-org-`] }
let store: EventStore & AsyncDisposable

function followAll(from: Position | 'start') {
  const seen: RecordedEvent[] = []
  const checkpoints: Position[] = []
  const ending = new AbortController()
  const subscription = store.subscribeToAll({
    name: 'all',
    filter,
    from,
    signal: ending.signal,
    onBatch: (events) => void seen.push(...events),
    onCheckpoint: (position) => void checkpoints.push(position),
  })
  return { seen, checkpoints, subscription, stop: () => ending.abort() }
}

describe('subscriptions to a node', () => {
  let node: TestEventStore
  beforeAll(async () => {
    node = await freshEventStore()
    store = await openTestStore({ url: node.url, catalogue, vault })
  })
  afterAll(async () => {
    await store.close()
    await node.stop()
  })

  test('a subscription to the log delivers old and new events, decrypted, in order', async () => {
    await store.append({ fold, stream: stream() }, 'no_stream', [opened('p1', 1, 'Ada')], newContext())
    const { seen, subscription, stop } = followAll('start')
    await until(() => subscription.stats().caughtUp)
    const { position } = await store.append({ fold, stream: stream() }, 'no_stream', [noted(2), noted(3)], newContext())
    await until(() => seen.length === 3)

    expect(seen.map(({ data }) => data)).toEqual([{ patientId: 'p1', room: 1, name: 'Ada' }, { room: 2 }, { room: 3 }])
    expect(subscription.stats()).toMatchObject({ connected: true, caughtUp: true, restarts: 0, position })
    stop()
    await subscription.ended
  })

  test('resuming from a position starts after it', async () => {
    const first = await store.append({ fold, stream: stream() }, 'no_stream', [noted(10)], newContext())
    const second = await store.append({ fold, stream: stream() }, 'no_stream', [noted(11)], newContext())
    const { seen, subscription, stop } = followAll(first.position)

    await until(() => seen.length > 0)
    expect(seen[0]?.position).toEqual(second.position)
    stop()
    await subscription.ended
  })

  test('checkpoints pass the events of other streams, without an event of our own', async () => {
    const { position } = await store.append({ fold, stream: stream() }, 'no_stream', [noted(20)], newContext())
    const foreign = Array.from({ length: 2_500 }, (_, room) => noted(room))
    await store.append({ fold, stream: `${category}-other-1` }, 'no_stream', foreign, newContext())
    const { seen, checkpoints, subscription, stop } = followAll(position)
    await until(() => checkpoints.length >= 2)

    expect(seen).toEqual([])
    expect(checkpoints.length).toBeLessThanOrEqual(4)
    expect(subscription.stats().position).toEqual(checkpoints.at(-1))
    stop()
    await subscription.ended
  })

  test('a subscription without prefixes delivers every stream except those of the server', async () => {
    const name = stream()
    const ending = new AbortController()
    const seen: string[] = []
    const before = await store.head({ streamPrefixes: [] })
    await store.writeMetadata(name, { source: '1/1' })
    await store.append({ fold, stream: name }, 'no_stream', [noted(30)], newContext())
    const subscription = store.subscribeToAll({
      name: 'everything',
      filter: { streamPrefixes: [] },
      from: before,
      signal: ending.signal,
      onUndecodable: () => undefined,
      onEvent: (event) => void seen.push(event.stream),
    })

    await until(() => seen.includes(name))
    expect(seen.every((each) => !each.startsWith('$'))).toBe(true)
    ending.abort()
    await subscription.ended
  })

  test('a missing stream can be followed, and resumed after a revision', async () => {
    const name = stream()
    const follow = (fromRevision: bigint | 'start') => {
      const ending = new AbortController()
      const revisions: bigint[] = []
      const subscription = store.subscribeToStream({
        name: 'one',
        stream: name,
        fromRevision,
        signal: ending.signal,
        onEvent: ({ revision }) => void revisions.push(revision),
      })
      return { revisions, subscription, ending }
    }
    const early = follow('start')
    await store.append({ fold, stream: name }, 'no_stream', [noted(1), noted(2), noted(3)], newContext())
    await until(() => early.revisions.length === 3)
    const late = follow(1n)
    await until(() => late.revisions.length === 1)

    expect(early.revisions).toEqual([0n, 1n, 2n])
    expect(late.revisions).toEqual([2n])
    early.ending.abort()
    late.ending.abort()
    await Promise.all([early.subscription.ended, late.subscription.ended])
  })

  test('ending a subscription waits for the running handler and delivers nothing after it', async () => {
    const ending = new AbortController()
    const hold = Promise.withResolvers<void>()
    const handled: bigint[] = []
    const name = stream()
    await store.append({ fold, stream: name }, 'no_stream', [noted(1), noted(2)], newContext())
    const subscription = store.subscribeToStream({
      name: 'ending',
      stream: name,
      fromRevision: 'start',
      signal: ending.signal,
      onEvent: async ({ revision }) => {
        ending.abort()
        await hold.promise
        handled.push(revision)
      },
    })
    await until(() => ending.signal.aborted)
    hold.resolve()
    await subscription.ended

    expect(handled).toEqual([0n])
  })

  test('keys of a batch are fetched together', async () => {
    const before = vault.reads
    const { position } = await store.append({ fold, stream: stream() }, 'no_stream', [noted(40)], newContext())
    const patients = Array.from({ length: 20 }, (_, index) => opened(`batch-${index}`, index, 'Ada'))
    await store.append({ fold, stream: stream() }, 'no_stream', patients, newContext())
    const { seen, subscription, stop } = followAll(position)
    await until(() => seen.length === 20)

    expect(vault.reads - before).toBe(20)
    expect(seen.map(({ data }) => data)).toEqual(patients.map(({ data }) => data))
    stop()
    await subscription.ended
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import { embeddedEventStore, type EmbeddedEventStore } from 'embedded-eventstore/testing'
import { MemoryKeys, newContext, noted, openTestStore, until, visitCategory } from './fixtures.ts'

const { catalogue, category, fold, stream } = visitCategory()

describe('a node that is killed and restarted', () => {
  let node: EmbeddedEventStore
  let store: EventStore & AsyncDisposable
  beforeAll(async () => {
    node = await embeddedEventStore()
    store = await openTestStore({ url: node.url, catalogue, vault: new MemoryKeys() })
  })
  afterAll(async () => {
    await store.close()
    await node.stop()
  })

  test('loses no acknowledged append, stalls no subscription and delivers everything once and in order', async () => {
    const name = stream('restart')
    const seen: RecordedEvent[] = []
    const ending = new AbortController()
    const subscription = store.subscribeToAll({
      name: 'all',
      filter: { streamPrefixes: [`${category}-org-`] },
      from: await store.head({ streamPrefixes: [] }),
      signal: ending.signal,
      onBatch: (events) => void seen.push(...events),
    })
    await until(() => subscription.stats().caughtUp)

    let revision: bigint | 'no_stream' = 'no_stream'
    let appended = 0
    const killing = new AbortController()
    const appending = (async () => {
      // Continues until the last kill, however long that takes: each one waits for a delivery.
      for (; !killing.signal.aborted || appended < 150; appended += 1) {
        revision = (await store.append({ fold, stream: name }, revision, [noted(appended)], newContext())).revision
      }
    })()
    for (let kills = 0; kills < 3; kills += 1) {
      const reached = seen.length
      await until(() => seen.length > reached)
      await node.restart()
    }
    killing.abort()
    await appending
    await until(() => seen.length >= appended)

    const rooms = Array.from({ length: appended }, (_, room) => ({ room }))
    expect(seen.map(({ data }) => data)).toEqual(rooms)
    expect((await store.load({ fold: { ...fold }, stream: name })).state.rooms).toEqual(rooms.map(({ room }) => room))
    expect(subscription.stats().restarts).toBeGreaterThan(0)
    ending.abort()
    await subscription.ended
  })

  test('running appends end with the true outcome', async () => {
    const names = Array.from({ length: 40 }, () => stream())
    const appending = names.map((name, room) =>
      store.append({ fold, stream: name }, 'no_stream', [noted(room)], newContext()),
    )
    const restarting = node.restart()
    const settled = await Promise.allSettled(appending)
    await restarting

    const found = await Promise.all(names.map(async (name) => (await store.readLast(name))?.revision))
    expect(settled.filter(({ status }) => status === 'rejected')).toEqual([])
    expect(found).toEqual(names.map(() => 0n))
  })

  test('a read continues where the node stopped it', async () => {
    const name = stream()
    await store.append(
      { fold, stream: name },
      'no_stream',
      Array.from({ length: 3_000 }, (_, room) => noted(room)),
      newContext(),
    )
    const revisions: bigint[] = []
    for await (const { revision } of store.readStream(name)) {
      revisions.push(revision)
      if (revisions.length === 5) await node.restart()
    }

    expect(revisions).toEqual(Array.from({ length: 3_000 }, (_, index) => BigInt(index)))
  })
})

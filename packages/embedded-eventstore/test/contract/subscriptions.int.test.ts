import { EventStoreDBClient, START, streamNameFilter } from '@eventstore/db-client'
import { describe, expect, test } from 'vitest'
import { collect, contractStore, counted, emitted, failure, takeUntil } from './contract-store.ts'

const { client, stream, append, store } = contractStore()

describe('a subscription to a stream', () => {
  test('from the start: stored events, caughtUp once, then new events', async () => {
    const name = stream()
    await append(name, 3)
    const subscription = client().subscribeToStream(name)
    const order: string[] = []
    subscription.on('confirmation', () => order.push('confirmation')).on('caughtUp', () => order.push('caughtUp'))
    const seen = await takeUntil(subscription, (events) => {
      if (events.length === 3) void emittedThenAppend(order, name)
      return events.length === 5
    })
    expect(seen.map(({ event }) => event?.revision)).toEqual([0n, 1n, 2n, 3n, 4n])
    expect(order).toEqual(['confirmation', 'caughtUp'])
  })

  async function emittedThenAppend(order: string[], name: string): Promise<void> {
    await expect.poll(() => order).toContain('caughtUp')
    await append(name, 2, { first: 3 })
  }

  test('from a revision (exclusive)', async () => {
    const name = stream()
    await append(name, 5)
    const seen = await takeUntil(
      client().subscribeToStream(name, { fromRevision: 2n }),
      (events) => events.length === 2,
    )
    expect(seen.map(({ event }) => event?.revision)).toEqual([3n, 4n])
  })

  test('from a revision beyond the end: caughtUp, then the events after that revision', async () => {
    const name = stream()
    await append(name, 3)
    const subscription = client().subscribeToStream(name, { fromRevision: 4n })
    const seen = takeUntil(subscription, (events) => events.length === 2)
    await emitted(subscription, 'caughtUp')
    await append(name, 4, { first: 3 })
    expect((await seen).map(({ event }) => event?.revision)).toEqual([5n, 6n])
  })

  test('from the start of a missing stream that gets metadata first', async () => {
    const name = stream()
    const subscription = client().subscribeToStream(name, { fromRevision: START })
    const seen = takeUntil(subscription, (events) => events.length === 1)
    await emitted(subscription, 'confirmation')
    await client().setStreamMetadata(name, { maxCount: 5 })
    await append(name, 1)
    expect((await seen).map(({ event }) => event?.revision)).toEqual([0n])
  })

  test('from the end: only new events', async () => {
    const name = stream()
    await append(name, 3)
    const subscription = client().subscribeToStream(name, { fromRevision: 'end' })
    const seen = takeUntil(subscription, (events) => events.length === 2)
    await emitted(subscription, 'caughtUp')
    await append(name, 2, { first: 3 })
    expect((await seen).map(({ event }) => event?.revision)).toEqual([3n, 4n])
  })

  test('to a missing stream: confirmed, and served once the stream is written', async () => {
    const name = stream()
    const subscription = client().subscribeToStream(name)
    const seen = takeUntil(subscription, (events) => events.length === 2)
    await emitted(subscription, 'confirmation')
    await append(name, 2, { expectedRevision: 'no_stream' })
    expect((await seen).map(({ event }) => event?.revision)).toEqual([0n, 1n])
  })

  test('continues after a soft delete with the later events', async () => {
    const name = stream()
    await append(name, 2)
    const subscription = client().subscribeToStream(name)
    const seen = takeUntil(subscription, (events) => events.length === 3)
    await emitted(subscription, 'caughtUp')
    await client().deleteStream(name)
    await expect.poll(async () => (await failure(collect(client().readStream(name)))).type).toBe('stream-not-found')
    await append(name, 1, { expectedRevision: 'no_stream', first: 2 })
    expect((await seen).map(({ event }) => event?.revision)).toEqual([0n, 1n, 2n])
  })

  test('receives no events of other streams', async () => {
    const name = stream()
    const subscription = client().subscribeToStream(name, { fromRevision: 'end' })
    const seen = takeUntil(subscription, (events) => events.length === 1)
    await emitted(subscription, 'caughtUp')
    await append(stream(), 3)
    await append(name, 1)
    expect((await seen).map(({ event }) => event?.streamId)).toEqual([name])
  })
})

describe('a subscription to $all', () => {
  test('from a position (exclusive), through catch-up into live', async () => {
    const name = stream()
    const { position } = await client().appendToStream(name, counted(0))
    await append(name, 40, { first: 1 })
    const subscription = client().subscribeToAll({ fromPosition: position ?? 'start' })
    const mine: (bigint | undefined)[] = []
    const done = takeUntil(subscription, (events) => {
      const last = events.at(-1)
      if (last?.event?.streamId === name) mine.push(last.event.revision)
      return mine.length === 60
    })
    await emitted(subscription, 'caughtUp')
    for (let n = 41; n < 61; n += 1) await append(name, 1, { first: n })
    await done
    expect(mine).toEqual(Array.from({ length: 60 }, (_, index) => BigInt(index + 1)))
  })

  test('from the end: only new events', async () => {
    await append(stream(), 5)
    const name = stream()
    const subscription = client().subscribeToAll({ fromPosition: 'end' })
    const seen = takeUntil(subscription, (events) => events.some(({ event }) => event?.streamId === name))
    await emitted(subscription, 'caughtUp')
    await append(name, 1)
    expect(
      (await seen).filter(({ event }) => event?.streamId.startsWith('contract-')).map(({ event }) => event?.streamId),
    ).toEqual([name])
  })

  test('from the last event: caughtUp, then new events', async () => {
    const name = stream()
    const { position } = await client().appendToStream(name, counted(0))
    if (position === undefined) throw new Error('no position')
    const subscription = client().subscribeToAll({
      fromPosition: position,
      filter: streamNameFilter({ prefixes: [name] }),
    })
    const seen = takeUntil(subscription, (events) => events.length === 1)
    await emitted(subscription, 'caughtUp')
    await append(name, 1, { first: 1 })
    expect((await seen).map(({ event }) => event?.revision)).toEqual([1n])
  })

  test('from a position without an event: an error', async () => {
    const { position } = await client().appendToStream(stream(), counted(0))
    await append(stream(), 1)
    const wrong = { commit: (position?.commit ?? 0n) + 1n, prepare: (position?.prepare ?? 0n) + 1n }
    expect((await failure(collect(client().subscribeToAll({ fromPosition: wrong })))).type).toBe('unknown')
  })

  test('from a position beyond the end: caughtUp, then every new event', async () => {
    const name = stream()
    await append(name, 1)
    const beyond = { commit: 10n ** 15n, prepare: 10n ** 15n }
    for (const options of [{}, { filter: streamNameFilter({ prefixes: [name] }) }]) {
      const subscription = client().subscribeToAll({ fromPosition: beyond, ...options })
      const seen = takeUntil(subscription, (events) => events.some(({ event }) => event?.streamId === name))
      await emitted(subscription, 'caughtUp')
      const [appended] = await append(name, 1, { first: 1 })
      expect((await seen).at(-1)?.event?.id).toBe(appended?.id)
    }
  })

  test('contains positions that a read accepts', async () => {
    const name = stream()
    const { position } = await client().appendToStream(name, counted(0))
    const before = await takeUntil(client().subscribeToAll(), (events) => events.at(-1)?.event?.streamId === name)
    expect(before.at(-1)?.event?.position).toEqual(position)
    expect(before.at(-1)?.commitPosition).toBe(position?.commit)
  })

  test('several subscribers receive the same events in the same order', async () => {
    const names = [stream(), stream()]
    const [first = '', second = ''] = names
    const { position } = await client().appendToStream(first, counted(0))
    const subscriptions = [0, 1, 2, 3].map(() =>
      takeUntil(
        client().subscribeToAll({ fromPosition: position ?? 'start', filter: streamNameFilter({ prefixes: names }) }),
        (events) => events.length === 30,
      ),
    )
    for (let n = 0; n < 15; n += 3)
      await Promise.all([append(first, 3, { first: n + 1 }), append(second, 3, { first: n })])
    const orders = (await Promise.all(subscriptions)).map((events) =>
      events.map(({ event }) => event?.position?.commit),
    )
    expect(new Set(orders.map(String)).size).toBe(1)
  })

  test('during appends, delivers every event once', async () => {
    const category = `flow${Math.random().toString(36).slice(2)}`
    const byStream = new Map<string, number[]>()
    const subscription = client().subscribeToAll({
      fromPosition: 'end',
      filter: streamNameFilter({ prefixes: [category] }),
    })
    let seen = 0
    const done = new Promise<void>((resolve) => {
      subscription.on('data', ({ event }) => {
        if (event !== undefined)
          byStream.set(event.streamId, [...(byStream.get(event.streamId) ?? []), Number(event.revision)])
        seen += 1
        if (seen === 200) resolve()
      })
    })
    await emitted(subscription, 'caughtUp')
    await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        for (let n = 0; n < 20; n += 1) await append(`${category}-${index}`, 1, { first: n })
      }),
    )
    await done
    await subscription.unsubscribe()
    expect([...byStream.values()]).toEqual(Array.from({ length: 10 }, () => Array.from({ length: 20 }, (_, n) => n)))
  })

  test('that its client ended: no more events and no error', async () => {
    const subscription = client().subscribeToAll({ fromPosition: 'end' })
    const errors: unknown[] = []
    const late: unknown[] = []
    subscription.on('error', (error) => errors.push(error))
    await emitted(subscription, 'caughtUp')
    await subscription.unsubscribe()
    subscription.on('data', (event) => late.push(event))
    const name = stream()
    await append(name, 3)
    await takeUntil(client().subscribeToStream(name), (events) => events.length === 3)
    expect(errors).toEqual([])
    expect(late).toEqual([])
  })
})

test('a client that disappears with its subscriptions leaves the store working', async () => {
  const other = EventStoreDBClient.connectionString(store().url)
  const subscriptions = Array.from({ length: 10 }, () => other.subscribeToAll())
  await Promise.all(subscriptions.map((subscription) => emitted(subscription, 'confirmation')))
  await other.dispose()
  const name = stream()
  await append(name, 1)
  expect(await takeUntil(client().subscribeToStream(name), (events) => events.length === 1)).toHaveLength(1)
})

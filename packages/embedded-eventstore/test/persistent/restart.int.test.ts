import {
  EventStoreDBClient,
  START,
  binaryEvent,
  eventTypeFilter,
  persistentSubscriptionToAllSettingsFromDefaults,
} from '@eventstore/db-client'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { embeddedEventStore, type EmbeddedEventStore } from '../../testing/fresh-event-store.ts'
import { collect, counted, failure } from '../contract/contract-store.ts'
import { SOON, TestConsumer, consumer, settings } from '../contract/persistent-consumer.ts'

let store: EmbeddedEventStore
let client: EventStoreDBClient

beforeEach(async () => {
  store = await embeddedEventStore()
  client = EventStoreDBClient.connectionString(store.url)
})

afterEach(async () => {
  await client.dispose()
  await store.stop()
})

async function killed(): Promise<void> {
  await client.dispose()
  await store.restart()
  client = EventStoreDBClient.connectionString(store.url)
}

async function append(name: string, count: number, first = 0): Promise<void> {
  await client.appendToStream(
    name,
    Array.from({ length: count }, (_, index) => counted(first + index)),
  )
}

function statsOf(name: string): ReturnType<EventStoreDBClient['getPersistentSubscriptionToStreamInfo']> {
  return client.getPersistentSubscriptionToStreamInfo(name, 'group')
}

test('a kill keeps groups, their settings, checkpoints and parked messages', async () => {
  await append('orders', 6)
  const asked = settings({
    maxRetryCount: 3,
    messageTimeout: 60_000,
    consumerStrategyName: 'DispatchToSingle',
    extraStatistics: true,
  })
  await client.createPersistentSubscriptionToStream('orders', 'group', asked)
  const one = await consumer(client, 'orders', 'group')
  await one.got(6)
  await one.nack('park', 'later', 0, 2)
  await one.ack(1)
  await expect.poll(async () => (await statsOf('orders')).stats.lastCheckpointedEventRevision, SOON).toBe(2n)
  await expect
    .poll(
      async () =>
        collect(client.readStream('$persistentsubscription-orders::group-checkpoint')).then(
          (events) => events.at(-1)?.event?.data,
          () => undefined,
        ),
      SOON,
    )
    .toBe('2')
  await killed()
  const info = await statsOf('orders')
  expect(info.settings).toMatchObject(asked)
  expect(info.stats).toMatchObject({ parkedMessageCount: 2n, lastCheckpointedEventRevision: 2n })
  const two = await consumer(client, 'orders', 'group')
  await two.got(3)
  expect(two.numbers).toEqual([3, 4, 5])
  await client.replayParkedMessagesToStream('orders', 'group')
  await two.got(5)
  expect(two.numbers.slice(3)).toEqual([0, 2])
})

test('a kill during a replay leaves unacknowledged messages parked', async () => {
  await append('orders', 3)
  await client.createPersistentSubscriptionToStream('orders', 'group', settings())
  const one = await consumer(client, 'orders', 'group')
  await one.got(3)
  await one.nack('park', 'later', 0, 1, 2)
  await expect.poll(async () => (await statsOf('orders')).stats.parkedMessageCount, SOON).toBe(3n)
  await client.replayParkedMessagesToStream('orders', 'group')
  await one.got(6)
  expect((await statsOf('orders')).stats.parkedMessageCount).toBe(0n)
  await one.ack(3)
  await expect
    .poll(
      async () =>
        (await client.getStreamMetadata('$persistentsubscription-orders::group-parked')).metadata?.truncateBefore,
      SOON,
    )
    .toBe(1)
  await killed()
  expect((await statsOf('orders')).stats.parkedMessageCount).toBe(2n)
  const two = await consumer(client, 'orders', 'group')
  await client.replayParkedMessagesToStream('orders', 'group')
  await two.got(2)
  expect(two.numbers).toEqual([1, 2])
})

test('a kill keeps a filter on $all, including prefixes with commas', async () => {
  const changes = persistentSubscriptionToAllSettingsFromDefaults({ startFrom: START })
  await client.createPersistentSubscriptionToAll('group', changes, {
    filter: eventTypeFilter({ prefixes: ['Wanted', 'a,b'] }),
  })
  await client.createPersistentSubscriptionToAll('other', changes, { filter: eventTypeFilter({ regex: '^a$' }) })
  await killed()
  await client.appendToStream('mixed', [counted(0, 'a'), counted(1, 'Wanted'), counted(2, 'b'), counted(3, 'a,b')])
  const one = await new TestConsumer(client.subscribeToPersistentSubscriptionToAll('group')).joined()
  const two = await new TestConsumer(client.subscribeToPersistentSubscriptionToAll('other')).joined()
  await one.got(2)
  await two.got(1)
  expect([one.numbers, two.numbers]).toEqual([[1, 3], [0]])
})

test('an unreadable configuration disables groups and nothing else', async () => {
  await client.createPersistentSubscriptionToStream('orders', 'group', settings())
  await client.appendToStream('$persistentSubscriptionConfig', counted(0))
  await killed()
  expect(await failure(statsOf('orders'))).toMatchObject({ type: 'unavailable' })
  expect(await failure(client.createPersistentSubscriptionToStream('orders', 'other', settings()))).toMatchObject({
    type: 'unavailable',
  })
  await append('orders', 1)
  expect(await collect(client.readStream('orders'))).toHaveLength(1)
  const figures = await fetch(new URL('/stats', store.url.replace('esdb:', 'http:')))
  expect(await figures.json()).toMatchObject({ events: 4, persistentSubscriptions: [] })
})

test('a group with an invalid checkpoint is left out, and the others work', async () => {
  for (const name of ['orders', 'others']) await client.createPersistentSubscriptionToStream(name, 'group', settings())
  await client.appendToStream(
    '$persistentsubscription-orders::group-checkpoint',
    binaryEvent({ type: 'SubscriptionCheckpoint', data: Buffer.from('{') }),
  )
  await killed()
  expect(await failure(statsOf('orders'))).toMatchObject({ type: 'persistent-subscription-does-not-exist' })
  expect((await statsOf('others')).status).toBe('Live')
})

test('kills under load lose no event: each is handled or parked', async () => {
  await client.createPersistentSubscriptionToStream(
    'orders',
    'group',
    settings({ checkPointUpperBound: 10, readBatchSize: 10, historyBufferSize: 50, liveBufferSize: 20 }),
  )
  const handled = new Set<unknown>()
  const work = async (): Promise<TestConsumer> => {
    const worker = new TestConsumer(
      client.subscribeToPersistentSubscriptionToStream('orders', 'group', { bufferSize: 10 }),
    )
    worker.subscription.on('data', (event: TestConsumer['delivered'][number]) => {
      const { n } =
        event.event?.data instanceof Uint8Array || typeof event.event?.data !== 'object'
          ? { n: undefined }
          : { n: 'n' in event.event.data ? event.event.data.n : undefined }
      const answered =
        typeof n === 'number' && n % 7 === 0
          ? worker.subscription.nack('park', 'seventh', event)
          : worker.subscription.ack(event)
      answered.then(
        () => handled.add(n),
        () => undefined,
      )
    })
    return worker.joined()
  }
  for (let round = 0; round < 3; round += 1) {
    await work()
    await append('orders', 100, round * 100)
    await expect.poll(() => handled.size, SOON).toBeGreaterThan(round * 100 + 40)
    await killed()
  }
  await work()
  await expect.poll(() => handled.size, SOON).toBe(300)
  // Messages handled before the last kill return if they lie behind the checkpoint. The end is reached when all are
  // parked.
  const parked = async (): Promise<number[]> => {
    const links = await collect(
      client.readStream('$persistentsubscription-orders::group-parked', { resolveLinkTos: true }),
    )
    return [...new Set(links.map(({ event }) => Number(event?.revision)))].toSorted((a, b) => a - b)
  }
  await expect.poll(parked, SOON).toEqual(Array.from({ length: 43 }, (_, index) => index * 7))
  await expect
    .poll(async () => (await statsOf('orders')).stats, SOON)
    .toMatchObject({ outstandingMessagesCount: 0, readBufferCount: 0 })
})

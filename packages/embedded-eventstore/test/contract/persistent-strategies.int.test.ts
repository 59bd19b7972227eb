import { randomUUID } from 'node:crypto'
import { credentials } from '@grpc/grpc-js'
import { jsonEvent, type ConsumerStrategy } from '@eventstore/db-client'
import { PersistentSubscriptionsClient } from '@eventstore/db-client/generated/persistent_grpc_pb.js'
import persistent from '@eventstore/db-client/generated/persistent_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import { describe, expect, test } from 'vitest'
import { contractStore, failure, link } from './contract-store.ts'
import { SOON, consumer, settings, type TestConsumer } from './persistent-consumer.ts'

const { client, store, stream, append } = contractStore()

async function joined(name: string, bufferSizes: number[]): Promise<TestConsumer[]> {
  const consumers: TestConsumer[] = []
  for (const size of bufferSizes) consumers.push(await consumer(client(), name, 'group', size))
  return consumers
}

async function group(consumerStrategyName: ConsumerStrategy, resolveLinkTos = false): Promise<string> {
  const name = stream()
  await client().createPersistentSubscriptionToStream(name, 'group', settings({ consumerStrategyName, resolveLinkTos }))
  return name
}

async function allGot(consumers: TestConsumer[], count: number): Promise<void> {
  await expect.poll(() => consumers.reduce((sum, { delivered }) => sum + delivered.length, 0), SOON).toBe(count)
}

test('round robin: consumers in turn, without those whose buffer is full', async () => {
  const name = await group('RoundRobin')
  const consumers = await joined(name, [1, 5, 5])
  await append(name, 7)
  await allGot(consumers, 7)
  expect(consumers.map(({ numbers }) => numbers)).toEqual([[0], [1, 3, 5], [2, 4, 6]])
})

test('dispatch to single: the first consumer until its buffer is full, then the next', async () => {
  const name = await group('DispatchToSingle')
  const consumers = await joined(name, [3, 5])
  await append(name, 5)
  await allGot(consumers, 5)
  expect(consumers.map(({ numbers }) => numbers)).toEqual([
    [0, 1, 2],
    [3, 4],
  ])
})

describe('pinned', () => {
  /** Links to several streams, as a projection by category writes them. */
  async function linked(name: string, targets: string[], rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1)
      await client().appendToStream(
        name,
        targets.map((target) => link(`${round}@${target}`)),
      )
  }

  async function written(count: number, events: number): Promise<string[]> {
    const targets = Array.from({ length: count }, () => stream())
    for (const target of targets) await append(target, events)
    return targets
  }

  function streamsOf({ delivered }: TestConsumer): string[] {
    return [...new Set(delivered.flatMap(({ event }) => event?.streamId ?? []))].toSorted()
  }

  test('all events of a stream go to one consumer', async () => {
    const name = await group('Pinned', true)
    const targets = await written(6, 4)
    const consumers = await joined(name, [100, 100])
    await linked(name, targets, 4)
    await allGot(consumers, 24)
    const parts = consumers.map(streamsOf)
    expect(parts.flat().toSorted()).toEqual(targets.toSorted())
    expect(parts.map(({ length }) => length).every((length) => length > 0)).toBe(true)
  })

  test('unresolved links go by the streams that they point to', async () => {
    const name = await group('Pinned')
    const targets = [`a-${randomUUID()}`, `b-${randomUUID()}`]
    const consumers = await joined(name, [100, 100])
    await linked(name, targets, 3)
    await allGot(consumers, 6)
    const pointed = consumers.map(
      ({ delivered }) =>
        new Set(
          delivered.map(
            ({ event }) =>
              Buffer.from(event?.data instanceof Uint8Array ? event.data : [])
                .toString()
                .split('@')[1],
          ),
        ),
    )
    expect(pointed.reduce((sum, { size }) => sum + size, 0)).toBe(2)
  })

  test('an event waits when its consumer has no room, and others pass it', async () => {
    const name = await group('Pinned', true)
    const [target = ''] = await written(1, 3)
    const [one, two] = await joined(name, [1, 1])
    await linked(name, [target], 3)
    await expect.poll(() => (one?.delivered.length ?? 0) + (two?.delivered.length ?? 0), SOON).toBe(1)
    const owner = one?.delivered.length === 1 ? one : two
    for (const place of [0, 1]) {
      await owner?.ack(place)
      await owner?.got(place + 2)
    }
    expect(owner?.numbers).toEqual([0, 1, 2])
  })

  test('another consumer takes over when its consumer leaves', async () => {
    const name = await group('Pinned', true)
    const targets = await written(4, 2)
    const [one, two] = await joined(name, [100, 100])
    await linked(name, targets, 1)
    await allGot(
      [one, two].flatMap((each) => each ?? []),
      4,
    )
    await one?.leave()
    await expect.poll(() => two?.delivered.length, SOON).toBe(4)
    await linked(name, targets, 2)
    await expect.poll(() => two?.delivered.length, SOON).toBe(12)
  })
})

describe('pinned by correlation', () => {
  test('all events of a correlation go to one consumer, from all streams', async () => {
    const name = stream()
    await createRaw(name, 'PinnedByCorrelation')
    expect((await client().getPersistentSubscriptionToStreamInfo(name, 'group')).settings.consumerStrategyName).toBe(
      'PinnedByCorrelation',
    )
    const consumers = await joined(name, [100, 100])
    const correlations = Array.from({ length: 8 }, () => randomUUID())
    for (let round = 0; round < 3; round += 1) {
      await client().appendToStream(
        name,
        correlations.map(($correlationId, n) =>
          jsonEvent({ type: 'Counted', data: { n }, metadata: { other: 1, $correlationId } }),
        ),
      )
    }
    await allGot(consumers, 24)
    const parts = consumers.map(
      ({ delivered }) =>
        new Set(delivered.map(({ event }) => event?.metadata).map((metadata) => JSON.stringify(metadata))),
    )
    expect(parts.map(({ size }) => size).reduce((sum, size) => sum + size)).toBe(8)
    expect(parts.every(({ size }) => size > 0)).toBe(true)
  })

  test('an unknown strategy is refused', async () => {
    expect(await failure(createRaw(stream(), 'Nobody'))).toMatchObject({
      code: 13,
      details: expect.stringContaining('Consumer strategy Nobody does not exist.'),
    })
  })

  /** The official client does not offer every strategy of its protocol. */
  async function createRaw(name: string, strategy: string): Promise<void> {
    const raw = new PersistentSubscriptionsClient(new URL(store().url).host, credentials.createInsecure())
    const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from(name))
    const place = new persistent.CreateReq.StreamOptions().setStreamIdentifier(identifier).setStart(new shared.Empty())
    const asked = new persistent.CreateReq.Settings()
      .setConsumerStrategy(strategy)
      .setMaxRetryCount(10)
      .setMinCheckpointCount(1)
      .setMaxCheckpointCount(10)
      .setLiveBufferSize(100)
      .setReadBatchSize(20)
      .setHistoryBufferSize(100)
      .setMessageTimeoutTicks(String(30_000 * 10_000))
      .setCheckpointAfterMs(1000)
    const request = new persistent.CreateReq().setOptions(
      new persistent.CreateReq.Options().setStream(place).setGroupName('group').setSettings(asked),
    )
    try {
      await new Promise<void>((resolve, reject) => {
        raw.create(request, (error) => (error === null ? resolve() : reject(error)))
      })
    } finally {
      raw.close()
    }
  }
})

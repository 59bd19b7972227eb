import { END, START } from '@eventstore/db-client'
import { describe, expect, test } from 'vitest'
import { collect, contractStore, failure } from './contract-store.ts'
import { SOON, TestConsumer, consumer, settings } from './persistent-consumer.ts'

const { client, stream, append } = contractStore()

describe('a group is created', () => {
  test('once, also before its stream exists', async () => {
    const name = stream()
    await client().createPersistentSubscriptionToStream(name, 'group', settings())
    expect(await failure(client().createPersistentSubscriptionToStream(name, 'group', settings()))).toMatchObject({
      type: 'persistent-subscription-exists',
      streamName: name,
      groupName: 'group',
    })
  })

  test('with any name, also an empty one, and several on one stream', async () => {
    const name = stream()
    for (const group of ['', 'one', 'two', 'drei::vier'])
      await client().createPersistentSubscriptionToStream(name, group, settings())
    const listed = await client().listPersistentSubscriptionsToStream(name)
    expect(listed.map(({ groupName }) => groupName)).toEqual(['', 'one', 'two', 'drei::vier'])
  })

  test('but not with batches as large as its buffer', async () => {
    const error = await failure(
      client().createPersistentSubscriptionToStream(
        stream(),
        'group',
        settings({ readBatchSize: 20, historyBufferSize: 20 }),
      ),
    )
    expect(error).toMatchObject({
      type: 'persistent-subscription-failed',
      groupName: 'group',
      reason: expect.stringContaining('ReadBatchSize'),
    })
  })

  test('but not on $all through the name of a stream', async () => {
    expect((await failure(client().createPersistentSubscriptionToStream('$all', 'group', settings()))).type).toBe(
      'unknown',
    )
  })

  test('but not from an impossible revision', async () => {
    expect(
      (
        await failure(
          client().createPersistentSubscriptionToStream(stream(), 'group', settings({ startFrom: 2n ** 63n })),
        )
      ).type,
    ).toBe('unknown')
  })
})

describe('a missing group', () => {
  test.each([
    ['update', (name: string) => client().updatePersistentSubscriptionToStream(name, 'group', settings())],
    ['delete', (name: string) => client().deletePersistentSubscriptionToStream(name, 'group')],
    ['info', (name: string) => client().getPersistentSubscriptionToStreamInfo(name, 'group')],
    ['replay', (name: string) => client().replayParkedMessagesToStream(name, 'group')],
  ])('%s: does not exist', async (_call, call) => {
    const name = stream()
    expect(await failure(call(name))).toMatchObject({
      type: 'persistent-subscription-does-not-exist',
      streamName: name,
      groupName: 'group',
    })
  })

  test('list: a stream without groups reports that none exists', async () => {
    const name = stream()
    expect(await failure(client().listPersistentSubscriptionsToStream(name))).toMatchObject({
      type: 'persistent-subscription-does-not-exist',
      streamName: name,
    })
  })

  test('cannot be joined', async () => {
    const joining = new TestConsumer(client().subscribeToPersistentSubscriptionToStream(stream(), 'group'))
    await expect.poll(() => joining.errors, SOON).toEqual(['persistent-subscription-does-not-exist'])
  })
})

describe('info returns', () => {
  test('the settings of a group', async () => {
    const name = stream()
    const asked = settings({
      startFrom: 5n,
      resolveLinkTos: true,
      extraStatistics: true,
      messageTimeout: 1234,
      maxRetryCount: 7,
      checkPointAfter: 5678,
      checkPointLowerBound: 3,
      checkPointUpperBound: 33,
      maxSubscriberCount: 4,
      liveBufferSize: 44,
      readBatchSize: 11,
      historyBufferSize: 55,
      consumerStrategyName: 'Pinned',
    })
    await client().createPersistentSubscriptionToStream(name, 'group', asked)
    const info = await client().getPersistentSubscriptionToStreamInfo(name, 'group')
    expect(info).toMatchObject({ eventSource: name, groupName: 'group', settings: asked, connections: [] })
  })

  test.each([
    [START, 'start'],
    [END, 'end'],
  ] as const)('the start of a group: %s', async (startFrom, reported) => {
    const name = stream()
    await client().createPersistentSubscriptionToStream(name, 'group', settings({ startFrom }))
    expect((await client().getPersistentSubscriptionToStreamInfo(name, 'group')).settings.startFrom).toBe(reported)
  })

  test("0 with the server's meaning: any number of consumers, checkpoints only by count", async () => {
    const name = stream()
    await client().createPersistentSubscriptionToStream(
      name,
      'group',
      settings({ messageTimeout: 0, checkPointAfter: 0 }),
    )
    const info = await client().getPersistentSubscriptionToStreamInfo(name, 'group')
    expect(info.settings).toMatchObject({
      messageTimeout: 0,
      checkPointAfter: 2_147_483_647,
      maxSubscriberCount: 'unbounded',
    })
  })

  test('the present state', async () => {
    const name = stream()
    await append(name, 5)
    await client().createPersistentSubscriptionToStream(name, 'group', settings({ extraStatistics: true }))
    const one = await consumer(client(), name, 'group', 3)
    await one.got(3)
    await one.ack(0)
    await one.got(4)
    const info = await client().getPersistentSubscriptionToStreamInfo(name, 'group')
    expect(info.status).toBe('Live')
    expect(info.stats).toMatchObject({
      totalItems: 4n,
      readBufferCount: 1,
      retryBufferCount: 0,
      totalInFlightMessages: 3,
      outstandingMessagesCount: 3,
      parkedMessageCount: 0n,
      lastKnownEventRevision: 4n,
      lastCheckpointedEventRevision: 0n,
    })
    expect(info.connections).toMatchObject([
      { username: 'system', totalItems: 4n, availableSlots: 0, inFlightMessages: 3 },
    ])
    const [connection] = info.connections
    expect([...(connection?.extraStatistics?.keys() ?? [])]).toEqual(
      expect.arrayContaining(['mean', 'median', 'fastest', 'quintile 5', '99.9%', 'highest']),
    )
  })

  test('a list returns all groups of all streams', async () => {
    const names = [stream(), stream()]
    for (const name of names) await client().createPersistentSubscriptionToStream(name, 'group', settings())
    const listed = await client().listAllPersistentSubscriptions()
    expect(listed.map(({ eventSource }) => eventSource)).toEqual(expect.arrayContaining(names))
  })
})

describe('a group is changed', () => {
  test('its consumers are dropped and it continues from its checkpoint', async () => {
    const name = stream()
    await append(name, 4)
    await client().createPersistentSubscriptionToStream(name, 'group', settings())
    const one = await consumer(client(), name, 'group')
    await one.got(4)
    await one.ack(0, 1)
    await expect
      .poll(
        async () =>
          (await client().getPersistentSubscriptionToStreamInfo(name, 'group')).stats.lastCheckpointedEventRevision,
        SOON,
      )
      .toBe(1n)
    await expect
      .poll(
        async () => collect(client().readStream(`$persistentsubscription-${name}::group-checkpoint`)).catch(() => []),
        SOON,
      )
      .not.toEqual([])
    await client().updatePersistentSubscriptionToStream(name, 'group', settings({ maxRetryCount: 99 }))
    await expect.poll(() => one.errors, SOON).toEqual(['persistent-subscription-dropped'])
    const two = await consumer(client(), name, 'group')
    await two.got(2)
    expect(two.numbers).toEqual([2, 3])
    expect((await client().getPersistentSubscriptionToStreamInfo(name, 'group')).settings.maxRetryCount).toBe(99)
  })
})

describe('a group is deleted', () => {
  test('its consumers are dropped, and a new group of the same name starts again', async () => {
    const name = stream()
    await append(name, 3)
    await client().createPersistentSubscriptionToStream(name, 'group', settings())
    const one = await consumer(client(), name, 'group')
    await one.got(3)
    await one.ack(0, 1, 2)
    await client().deletePersistentSubscriptionToStream(name, 'group')
    await expect.poll(() => one.errors, SOON).toEqual(['persistent-subscription-dropped'])
    expect((await failure(client().getPersistentSubscriptionToStreamInfo(name, 'group'))).type).toBe(
      'persistent-subscription-does-not-exist',
    )
    expect(await client().listPersistentSubscriptionsToStream(name)).toEqual([])
    const checkpoints = `$persistentsubscription-${name}::group-checkpoint`
    await expect
      .poll(async () => (await failure(collect(client().readStream(checkpoints)))).type, SOON)
      .toBe('stream-not-found')
    await client().createPersistentSubscriptionToStream(name, 'group', settings())
    const two = await consumer(client(), name, 'group')
    await two.got(3)
    expect(two.numbers).toEqual([0, 1, 2])
  })
})

test('during acknowledgements, nothing is written after its end', async () => {
  const name = stream()
  await append(name, 200)
  await client().createPersistentSubscriptionToStream(name, 'group', settings())
  const one = await consumer(client(), name, 'group', 200)
  await one.got(200)
  await Promise.all(Array.from({ length: 200 }, (_, place) => one.ack(place)))
  await client().deletePersistentSubscriptionToStream(name, 'group')
  await client().createPersistentSubscriptionToStream(name, 'group', settings())
  const two = await consumer(client(), name, 'group')
  await two.got(1)
  expect(two.numbers[0]).toBe(0)
  expect((await failure(collect(client().readStream(`$persistentsubscription-${name}::group-checkpoint`)))).type).toBe(
    'stream-not-found',
  )
})

test('a restart of the subsystem drops consumers and keeps groups', async () => {
  const name = stream()
  await append(name, 3)
  await client().createPersistentSubscriptionToStream(name, 'group', settings())
  const one = await consumer(client(), name, 'group')
  await one.got(3)
  await one.ack(0, 1)
  await expect
    .poll(
      async () => collect(client().readStream(`$persistentsubscription-${name}::group-checkpoint`)).catch(() => []),
      SOON,
    )
    .not.toEqual([])
  await client().restartPersistentSubscriptionSubsystem()
  await expect.poll(() => one.errors, SOON).toEqual(['persistent-subscription-dropped'])
  await expect
    .poll(
      async () =>
        client()
          .getPersistentSubscriptionToStreamInfo(name, 'group')
          .then(
            ({ status }) => status,
            () => '',
          ),
      SOON,
    )
    .toBe('Live')
  const two = await consumer(client(), name, 'group')
  await two.got(1)
  expect(two.numbers.at(-1)).toBe(2)
})

test('groups are stored in a system stream that keeps two events', async () => {
  const name = stream()
  await client().createPersistentSubscriptionToStream(name, 'group', settings({ startFrom: END }))
  await client().createPersistentSubscriptionToStream(name, 'other', settings())
  const kept = await collect(client().readStream('$persistentSubscriptionConfig'))
  expect(kept).toHaveLength(2)
  expect(kept.at(-1)?.event).toMatchObject({
    type: '$PersistentConfig',
    data: {
      version: '2',
      updatedBy: 'system',
      entries: expect.arrayContaining([
        {
          stream: name,
          group: 'group',
          messageTimeout: 30_000,
          startFrom: -1,
          startPosition: '-1',
          liveBufferSize: 500,
          historyBufferSize: 500,
          maxRetryCount: 10,
          readBatchSize: 20,
          checkPointAfter: 2000,
          minCheckPointCount: 1,
          maxCheckPointCount: 1,
          namedConsumerStrategy: 'RoundRobin',
        },
      ]),
    },
  })
  expect((await client().getStreamMetadata('$persistentSubscriptionConfig')).metadata).toEqual({ maxCount: 2 })
})

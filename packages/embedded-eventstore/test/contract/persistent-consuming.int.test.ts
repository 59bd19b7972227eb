import { EventStoreDBClient } from '@eventstore/db-client'
import { describe, expect, test } from 'vitest'
import { collect, contractStore, counted, revisions } from './contract-store.ts'
import { SOON, TestConsumer, consumer, settings } from './persistent-consumer.ts'

const { client, stream, append, store } = contractStore()

async function group(changes: Parameters<typeof settings>[0] = {}, count = 0): Promise<string> {
  const name = stream()
  if (count > 0) await append(name, count)
  await client().createPersistentSubscriptionToStream(name, 'group', settings(changes))
  return name
}

function statsOf(name: string): Promise<{
  parkedMessageCount: bigint
  outstandingMessagesCount: number
  retryBufferCount: number
  lastCheckpointedEventRevision?: bigint | undefined
}> {
  return client()
    .getPersistentSubscriptionToStreamInfo(name, 'group')
    .then(({ stats }) => stats)
}

describe('a consumer receives', () => {
  test('stored events in order, then new ones', async () => {
    const name = await group({}, 3)
    const one = await consumer(client(), name, 'group')
    await one.got(3)
    await append(name, 2, { first: 3 })
    await one.got(5)
    expect(one.numbers).toEqual([0, 1, 2, 3, 4])
    expect(one.retries).toEqual([0, 0, 0, 0, 0])
  })

  test('events with their positions', async () => {
    const name = await group({}, 2)
    const read = await collect(client().readStream(name))
    const one = await consumer(client(), name, 'group')
    expect((await one.got(2)).map(({ event, commitPosition }) => [event, commitPosition])).toEqual(
      read.map(({ event, commitPosition }) => [event, commitPosition]),
    )
    expect(one.subscription.id).toBe(`${name}::group`)
  })

  test('events from a revision (inclusive)', async () => {
    const name = await group({ startFrom: 2n }, 4)
    const one = await consumer(client(), name, 'group')
    await one.got(2)
    expect(one.numbers).toEqual([2, 3])
  })

  test('only new events from the end, including those from before it joined', async () => {
    const name = await group({ startFrom: 'end' }, 3)
    await append(name, 2, { first: 3 })
    const one = await consumer(client(), name, 'group')
    await one.got(2)
    expect(one.numbers).toEqual([3, 4])
  })

  test('at most as many messages at once as its buffer holds', async () => {
    const name = await group({}, 10)
    const one = await consumer(client(), name, 'group', 3)
    await one.got(3)
    await expect.poll(() => statsOf(name), SOON).toMatchObject({ outstandingMessagesCount: 3 })
    expect(one.numbers).toEqual([0, 1, 2])
    await one.ack(0, 1)
    await one.got(5)
    expect(one.numbers).toEqual([0, 1, 2, 3, 4])
  })

  test('nothing with a buffer of 0', async () => {
    const name = await group({}, 2)
    const none = await consumer(client(), name, 'group', 0)
    const one = await consumer(client(), name, 'group')
    await one.got(2)
    expect(none.delivered).toEqual([])
  })

  test('an error with a negative buffer', async () => {
    const joining = new TestConsumer(
      client().subscribeToPersistentSubscriptionToStream(await group(), 'group', { bufferSize: -1 }),
    )
    await expect.poll(() => joining.errors, SOON).toEqual(['unknown'])
  })

  test('many more events than its group buffers, each once', async () => {
    const name = await group(
      { historyBufferSize: 20, readBatchSize: 7, liveBufferSize: 10, checkPointUpperBound: 50 },
      150,
    )
    const one = await consumer(client(), name, 'group', 5)
    let answered = 0
    const answer = async (): Promise<void> => {
      while (answered < 300) {
        await one.got(answered + 1)
        await one.ack(answered)
        answered += 1
      }
    }
    const answering = answer()
    for (let n = 150; n < 300; n += 10) await append(name, 10, { first: n })
    await answering
    expect(one.numbers).toEqual(Array.from({ length: 300 }, (_, n) => n))
  })

  test('the events of a truncated stream from the first readable one', async () => {
    const name = stream()
    await append(name, 5)
    await client().setStreamMetadata(name, { truncateBefore: 3 })
    await client().createPersistentSubscriptionToStream(name, 'group', settings())
    const one = await consumer(client(), name, 'group')
    await one.got(2)
    expect(one.numbers).toEqual([3, 4])
  })

  test('the tombstone, and then nothing once the group restarts', async () => {
    const name = await group({}, 1)
    const one = await consumer(client(), name, 'group')
    await one.got(1)
    await client().tombstoneStream(name)
    await one.got(2)
    expect(one.delivered.at(-1)?.event?.type).toBe('$streamDeleted')
    await client().updatePersistentSubscriptionToStream(name, 'group', settings())
    await expect
      .poll(async () => {
        const next = new TestConsumer(client().subscribeToPersistentSubscriptionToStream(name, 'group'))
        await expect.poll(() => next.errors.length, SOON).toBe(1)
        return next.errors
      }, SOON)
      .toEqual(['persistent-subscription-dropped'])
  })
})

describe('an answer of a consumer', () => {
  test('acknowledged: the message does not return, and the checkpoint includes it', async () => {
    const name = await group({}, 3)
    const one = await consumer(client(), name, 'group')
    await one.got(3)
    await one.ack(1)
    await one.ack(0, 2)
    await expect.poll(async () => (await statsOf(name)).lastCheckpointedEventRevision, SOON).toBe(2n)
    const checkpoints = await collect(client().readStream(`$persistentsubscription-${name}::group-checkpoint`))
    expect(checkpoints.at(-1)?.event).toMatchObject({ type: 'SubscriptionCheckpoint', data: '2', isJson: true })
    expect(one.delivered).toHaveLength(3)
  })

  test('a checkpoint never passes an unfinished message', async () => {
    const name = await group({}, 5)
    const one = await consumer(client(), name, 'group')
    await one.got(5)
    await one.ack(0, 1, 3, 4)
    await expect.poll(async () => (await statsOf(name)).lastCheckpointedEventRevision, SOON).toBe(1n)
    await one.ack(2)
    await expect.poll(async () => (await statsOf(name)).lastCheckpointedEventRevision, SOON).toBe(4n)
  })

  test('checkpoints wait for their count or their time', async () => {
    const byCount = await group({ checkPointAfter: 3_600_000, checkPointLowerBound: 3, checkPointUpperBound: 3 }, 5)
    const byTime = await group({ checkPointAfter: 500, checkPointLowerBound: 2, checkPointUpperBound: 100 }, 5)
    const [one, two] = [await consumer(client(), byCount, 'group'), await consumer(client(), byTime, 'group')]
    await one.got(5)
    await two.got(5)
    await one.ack(0)
    await one.ack(1)
    await two.ack(0, 1, 2)
    await expect.poll(async () => (await statsOf(byTime)).lastCheckpointedEventRevision, SOON).toBe(2n)
    await one.ack(2)
    await expect.poll(async () => (await statsOf(byCount)).lastCheckpointedEventRevision, SOON).toBe(2n)
  })

  test('retry: the message returns immediately with its retry count', async () => {
    const name = await group({}, 2)
    const one = await consumer(client(), name, 'group')
    await one.got(2)
    await one.nack('retry', 'again', 0)
    await one.got(3)
    await one.nack('retry', 'and again', 2)
    await one.got(4)
    expect(one.numbers).toEqual([0, 1, 0, 0])
    expect(one.retries).toEqual([0, 0, 1, 2])
  })

  test('retry beyond the limit: the message is parked', async () => {
    const name = await group({ maxRetryCount: 2 }, 1)
    const one = await consumer(client(), name, 'group')
    for (const place of [0, 1, 2]) {
      await one.got(place + 1)
      await one.nack('retry', 'again', place)
    }
    await expect.poll(async () => (await statsOf(name)).parkedMessageCount, SOON).toBe(1n)
    const [parked] = await collect(client().readStream(`$persistentsubscription-${name}::group-parked`))
    expect(parked?.event?.metadata).toMatchObject({ reason: 'Reached retry count of 2' })
    expect(one.retries).toEqual([0, 1, 2])
  })

  test.each(['skip', 'stop'] as const)('%s: the message does not return and is not parked', async (action) => {
    const name = await group({}, 2)
    const one = await consumer(client(), name, 'group')
    await one.got(2)
    await one.nack(action, 'not for me', 0)
    await one.ack(1)
    await expect.poll(async () => (await statsOf(name)).lastCheckpointedEventRevision, SOON).toBe(1n)
    expect((await statsOf(name)).parkedMessageCount).toBe(0n)
    expect(one.delivered).toHaveLength(2)
  })

  test('no answer in time: the message returns, and is parked beyond the limit', async () => {
    const name = await group({ messageTimeout: 200, maxRetryCount: 1 }, 1)
    const one = await consumer(client(), name, 'group')
    await one.got(2)
    expect(one.retries).toEqual([0, 1])
    await expect.poll(async () => (await statsOf(name)).parkedMessageCount, SOON).toBe(1n)
    expect(await statsOf(name)).toMatchObject({ outstandingMessagesCount: 0, retryBufferCount: 0 })
  })

  test('an answer about a message that is not with the consumer has no effect', async () => {
    const name = await group({}, 2)
    const one = await consumer(client(), name, 'group')
    await one.got(2)
    const stranger = counted(7)
    await one.subscription.ack({
      event: { ...stranger, streamId: name, revision: 0n, isJson: true, created: new Date(), metadata: undefined },
    })
    await one.ack(0)
    await one.ack(0)
    await expect.poll(async () => (await statsOf(name)).lastCheckpointedEventRevision, SOON).toBe(0n)
    expect((await statsOf(name)).outstandingMessagesCount).toBe(1)
  })
})

describe('several consumers', () => {
  test('share the events: no two receive the same one', async () => {
    const name = await group()
    const all = [
      await consumer(client(), name, 'group'),
      await consumer(client(), name, 'group'),
      await consumer(client(), name, 'group'),
    ]
    await append(name, 9)
    await expect.poll(() => all.flatMap(({ numbers }) => numbers).length, SOON).toBe(9)
    expect(all.flatMap(({ numbers }) => numbers).toSorted((low, high) => Number(low) - Number(high))).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8,
    ])
    expect(all.map(({ delivered }) => delivered.length)).toEqual([3, 3, 3])
  })

  test('after one leaves, the others receive its messages as retries', async () => {
    const name = await group({}, 3)
    const one = await consumer(client(), name, 'group')
    await one.got(3)
    const two = await consumer(client(), name, 'group')
    await one.ack(1)
    await expect.poll(() => statsOf(name), SOON).toMatchObject({ outstandingMessagesCount: 2 })
    await one.leave()
    await two.got(2)
    expect(two.numbers).toEqual([0, 2])
    expect(two.retries).toEqual([1, 1])
  })

  test('after one loses its connection, the others receive its messages', async () => {
    const name = await group({}, 2)
    const other = EventStoreDBClient.connectionString(store().url)
    const one = await consumer(other, name, 'group')
    await one.got(2)
    const two = await consumer(client(), name, 'group')
    await other.dispose()
    await two.got(2)
    expect(two.numbers).toEqual([0, 1])
  })

  test('are limited in number; a free place can be taken again', async () => {
    const name = await group({ maxSubscriberCount: 1 })
    const one = await consumer(client(), name, 'group')
    const two = new TestConsumer(client().subscribeToPersistentSubscriptionToStream(name, 'group'))
    await expect.poll(() => two.errors, SOON).toEqual(['maximum-subscribers-reached'])
    await one.leave()
    await expect
      .poll(async () => (await client().getPersistentSubscriptionToStreamInfo(name, 'group')).connections, SOON)
      .toEqual([])
    const three = await consumer(client(), name, 'group')
    await append(name, 1)
    await three.got(1)
    expect(three.numbers).toEqual([0])
  })

  test('of several groups on one stream each receive all events', async () => {
    const name = await group({}, 2)
    await client().createPersistentSubscriptionToStream(name, 'other', settings())
    const [one, two] = [await consumer(client(), name, 'group'), await consumer(client(), name, 'other')]
    await one.got(2)
    await two.got(2)
    expect([one.numbers, two.numbers]).toEqual([
      [0, 1],
      [0, 1],
    ])
    expect(await revisions(client().readStream(name))).toEqual([0, 1])
  })
})

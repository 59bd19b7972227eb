import { EventStoreDBClient } from '@eventstore/db-client'
import { expect, test } from 'vitest'
import { contractStore } from './contract-store.ts'
import { cutConnection } from '../../testing/cut-connection.ts'
import { SOON, TestConsumer, settings } from './persistent-consumer.ts'

const { client, store, stream, append } = contractStore()

test.each(['reset', 'close'] as const)(
  'a consumer whose connection breaks (%s) gets an error; the next consumer gets its messages and none is lost',
  async (how) => {
    const name = stream()
    await append(name, 6)
    await client().createPersistentSubscriptionToStream(name, 'group', settings())
    const relay = await cutConnection(store().url)
    const behind = EventStoreDBClient.connectionString(relay.url)
    const first = new TestConsumer(behind.subscribeToPersistentSubscriptionToStream(name, 'group', { bufferSize: 4 }))
    await first.got(4)
    await first.ack(0)
    await first.got(5)
    relay.cut(how)
    await expect.poll(() => first.errors.length, SOON).toBeGreaterThan(0)
    const second = new TestConsumer(
      client().subscribeToPersistentSubscriptionToStream(name, 'group', { bufferSize: 10 }),
    )
    await second.got(5)
    expect(new Set(second.numbers)).toEqual(new Set([1, 2, 3, 4, 5]))
    await second.subscription.unsubscribe()
    await behind.dispose()
    await relay.close()
  },
)

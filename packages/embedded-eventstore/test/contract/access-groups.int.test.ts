import {
  persistentSubscriptionToAllSettingsFromDefaults,
  persistentSubscriptionToStreamSettingsFromDefaults,
  type EventStoreDBClient,
} from '@eventstore/db-client'
import { beforeEach, describe, expect, test } from 'vitest'
import { counted, failure } from './contract-store.ts'
import { TestConsumer, consumer, settings } from './persistent-consumer.ts'
import { securedStore } from './secured-store.ts'

const { as, stream } = securedStore()

const DENIED = { type: 'access-denied' }
const GROUP = 'readers'
let name = ''

beforeEach(async () => {
  name = stream()
  await as('admin').appendToStream(name, [counted(0), counted(1)])
  await as('admin').createPersistentSubscriptionToStream(name, GROUP, settings())
})

const MANAGING: Record<string, (client: EventStoreDBClient) => Promise<unknown>> = {
  create: (client) =>
    client.createPersistentSubscriptionToStream(name, 'another', persistentSubscriptionToStreamSettingsFromDefaults()),
  'create on $all': (client) =>
    client.createPersistentSubscriptionToAll(name, persistentSubscriptionToAllSettingsFromDefaults()),
  update: (client) => client.updatePersistentSubscriptionToStream(name, GROUP, settings({ maxRetryCount: 3 })),
  'replay parked': (client) => client.replayParkedMessagesToStream(name, GROUP),
  delete: (client) => client.deletePersistentSubscriptionToStream(name, GROUP),
  restart: (client) => client.restartPersistentSubscriptionSubsystem(),
}

test.each(Object.entries(MANAGING))('only operators and administrators may %s', async (_name, manage) => {
  for (const account of ['nobody', 'alice'] as const) expect(await failure(manage(as(account)))).toMatchObject(DENIED)
  await manage(as('operator'))
})

test('every account may inspect groups', async () => {
  expect((await as('bob').getPersistentSubscriptionToStreamInfo(name, GROUP)).groupName).toBe(GROUP)
  expect(await as('bob').listPersistentSubscriptionsToStream(name)).toHaveLength(1)
  expect(await failure(as('nobody').getPersistentSubscriptionToStreamInfo(name, GROUP))).toMatchObject(DENIED)
  expect(await failure(as('nobody').listAllPersistentSubscriptions())).toMatchObject(DENIED)
})

describe('consuming a group', () => {
  const refusal = async (client: EventStoreDBClient, ofAll = false): Promise<unknown[]> => {
    const subscription = ofAll
      ? client.subscribeToPersistentSubscriptionToAll(name)
      : client.subscribeToPersistentSubscriptionToStream(name, GROUP)
    const { errors } = new TestConsumer(subscription)
    await expect.poll(() => errors).not.toHaveLength(0)
    return errors
  }

  test("is allowed with the right to read the stream, and shows the consumer's own name", async () => {
    const bob = await consumer(as('bob'), name, GROUP)
    expect(await bob.got(2)).toHaveLength(2)
    await bob.ack(0, 1)
    const { connections } = await as('bob').getPersistentSubscriptionToStreamInfo(name, GROUP)
    expect(connections.map(({ username }) => username)).toEqual(['contract-bob'])
    await bob.leave()
    expect(await refusal(as('nobody'))).toEqual(['access-denied'])
  })

  test('is refused without that right', async () => {
    await as('admin').setStreamMetadata(name, { acl: { readRoles: ['doctors'] } })
    expect(await refusal(as('bob'))).toEqual(['access-denied'])
    expect(await refusal(as('operator'))).toEqual(['access-denied'])
    const alice = await consumer(as('alice'), name, GROUP)
    await alice.got(2)
    await alice.leave()
  })

  test('is refused for a missing group on an unreadable stream, without showing that it is missing', async () => {
    const system = stream('$secured')
    const { errors } = new TestConsumer(as('bob').subscribeToPersistentSubscriptionToStream(system, GROUP))
    await expect.poll(() => errors).toEqual(['access-denied'])
  })

  test('on $all is only allowed for administrators', async () => {
    await as('operator').createPersistentSubscriptionToAll(name, persistentSubscriptionToAllSettingsFromDefaults())
    expect(await refusal(as('bob'), true)).toEqual(['access-denied'])
    expect(await refusal(as('operator'), true)).toEqual(['access-denied'])
    const admin = await new TestConsumer(as('admin').subscribeToPersistentSubscriptionToAll(name)).joined()
    await admin.leave()
    await as('admin').deletePersistentSubscriptionToAll(name)
  })
})

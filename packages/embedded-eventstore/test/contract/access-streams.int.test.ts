import { EventStoreDBClient, binaryEvent, type StreamMetadata } from '@eventstore/db-client'
import { describe, expect, test } from 'vitest'
import { collect, counted, failure, revisions, takeUntil } from './contract-store.ts'
import { securedEventStoreUrl } from '../../testing/fresh-event-store.ts'
import { securedStore, type Account } from './secured-store.ts'

const { url, as, withCredentials, stream } = securedStore()

const DENIED = { type: 'access-denied' }

/** Creates a stream as administrator with an access list and two events. */
async function streamWith(acl: StreamMetadata['acl'], category?: string): Promise<string> {
  const name = stream(category)
  await as('admin').appendToStream(name, [counted(0), counted(1)])
  if (acl !== undefined) await as('admin').setStreamMetadata(name, { acl })
  return name
}

/** Every action on a stream. */
const ACTIONS: Record<string, (client: EventStoreDBClient, name: string) => Promise<unknown>> = {
  read: (client, name) => collect(client.readStream(name)),
  'read backwards': (client, name) =>
    collect(client.readStream(name, { direction: 'backwards', fromRevision: 'end', maxCount: 1 })),
  subscribe: (client, name) => takeUntil(client.subscribeToStream(name), (events) => events.length === 2),
  append: (client, name) => client.appendToStream(name, counted(2)),
  'read metadata': (client, name) => client.getStreamMetadata(name),
  'write metadata': (client, name) => client.setStreamMetadata(name, { maxCount: 10 }),
  delete: (client, name) => client.deleteStream(name),
  tombstone: (client, name) => client.tombstoneStream(name),
}

describe.each(Object.entries(ACTIONS))('%s', (_name, action) => {
  test('is allowed for every account on an ordinary stream, and refused without an account', async () => {
    const name = await streamWith(undefined)
    expect(await failure(action(as('nobody'), name))).toMatchObject(DENIED)
    await action(as('bob'), name)
  })

  test('is only allowed for administrators on a system stream', async () => {
    const name = await streamWith(undefined, '$secured')
    for (const account of ['nobody', 'bob', 'operator'] as const)
      expect(await failure(action(as(account), name))).toMatchObject(DENIED)
    await action(as('admin'), name)
  })

  test('is refused with a wrong password or an unknown login', async () => {
    const name = await streamWith(undefined)
    expect(await failure(action(withCredentials('admin', 'wrong'), name))).toMatchObject(DENIED)
    expect(await failure(action(withCredentials('contract-nobody', 'changeit'), name))).toMatchObject(DENIED)
  })
})

describe.each([
  { right: 'readRoles', granted: ['read', 'read backwards', 'subscribe'] },
  { right: 'writeRoles', granted: ['append'] },
  { right: 'deleteRoles', granted: ['delete'] },
  { right: 'deleteRoles', granted: ['tombstone'] },
  { right: 'metaReadRoles', granted: ['read metadata'] },
  { right: 'metaWriteRoles', granted: ['write metadata'] },
])('an access list of $right for $granted', ({ right, granted }) => {
  const allowed = async (account: Account, action: string, name: string): Promise<boolean> => {
    try {
      await ACTIONS[action]?.(as(account), name)
      return true
    } catch (error) {
      expect(error).toMatchObject(DENIED)
      return false
    }
  }

  test.each([
    { roles: ['doctors'], alice: true, bob: false },
    { roles: ['nurses', 'night shift'], alice: true, bob: false },
    { roles: ['contract-bob'], alice: false, bob: true },
    { roles: ['$all'], alice: true, bob: true },
    { roles: ['Doctors', '$ops'], alice: false, bob: false },
    { roles: [], alice: false, bob: false },
  ])('$roles', async ({ roles, alice, bob }) => {
    for (const action of granted) {
      expect(await allowed('alice', action, await streamWith({ [right]: roles }))).toBe(alice)
      expect(await allowed('bob', action, await streamWith({ [right]: roles }))).toBe(bob)
      expect(await allowed('admin', action, await streamWith({ [right]: roles }))).toBe(true)
    }
  })

  test('does not change the other rights', async () => {
    const name = await streamWith({ [right]: [] })
    const others = ['read', 'append', 'read metadata', 'write metadata', 'delete'].filter(
      (action) => !granted.includes(action),
    )
    for (const action of right === 'deleteRoles' ? others.filter((other) => other !== 'delete') : others) {
      expect(await allowed('bob', action, name)).toBe(true)
    }
  })
})

test('an access list can grant rights to a system stream', async () => {
  const name = await streamWith({ readRoles: ['contract-bob'] }, '$secured')
  expect(await revisions(as('bob').readStream(name))).toEqual([0, 1])
  expect(await failure(as('bob').appendToStream(name, counted(2)))).toMatchObject(DENIED)
})

test('a subscription continues when its reader loses the right, or ends with that reason', async () => {
  const name = await streamWith({ readRoles: ['contract-bob'] })
  const taken = takeUntil(as('bob').subscribeToStream(name), (events) => events.length === 3)
  await expect.poll(async () => (await collect(as('bob').readStream(name))).length).toBe(2)
  await as('admin').setStreamMetadata(name, { acl: { readRoles: [] } })
  expect(await failure(collect(as('bob').readStream(name)))).toMatchObject(DENIED)
  await as('admin').appendToStream(name, counted(2))
  const end = await taken.then(
    (events) => events.length,
    ({ type }) => type,
  )
  // KurrentDB 26 ends it (docs/event-store-lines.md).
  expect(end).toBeOneOf(securedEventStoreUrl === '' ? [3] : [3, 'access-denied'])
})

test("a link is resolved for a reader of the link's stream", async () => {
  const hidden = await streamWith({ readRoles: [] })
  const links = stream()
  await as('bob').appendToStream(links, binaryEvent({ type: '$>', data: Buffer.from(`1@${hidden}`) }))
  const read = await collect(as('bob').readStream(links, { resolveLinkTos: true }))
  expect(read.map(({ event }) => event?.streamId)).toEqual([hidden])
})

test('credentials of a single call apply to that call', async () => {
  const name = await streamWith({ readRoles: ['doctors'], writeRoles: ['doctors'] })
  const credentials = { username: 'contract-alice', password: 'of:Älice' }
  expect(await revisions(as('bob').readStream(name, { credentials }))).toEqual([0, 1])
  expect((await as('bob').appendToStream(name, counted(2), { credentials })).success).toBe(true)
  const wrong = { username: 'contract-alice', password: 'wrong' }
  expect(await failure(as('alice').appendToStream(name, counted(3), { credentials: wrong }))).toMatchObject(DENIED)
  expect(await failure(as('bob').appendToStream(name, counted(3)))).toMatchObject(DENIED)
  expect(await revisions(as('alice').readStream(name))).toEqual([0, 1, 2])
})

test('nobody may delete a metadata stream or write to $all', async () => {
  const name = await streamWith(undefined)
  await as('admin').setStreamMetadata(name, { maxCount: 5 })
  expect(await failure(as('admin').deleteStream(`$$${name}`))).toMatchObject(DENIED)
  expect(await failure(as('admin').tombstoneStream(`$$${name}`))).toMatchObject(DENIED)
  expect(await failure(as('admin').appendToStream('$all', counted(0)))).toMatchObject(DENIED)
  expect(await failure(as('admin').deleteStream('$all'))).toMatchObject(DENIED)
})

test('discovery needs no account; the calls after it do', async () => {
  const name = await streamWith(undefined)
  const discover = (userInfo: string): string => url().replace('esdb://', `esdb+discover://${userInfo}`)
  const bob = EventStoreDBClient.connectionString(discover('contract-bob:of%20Bob@'))
  const nobody = EventStoreDBClient.connectionString(discover(''))
  expect(await revisions(bob.readStream(name))).toEqual([0, 1])
  expect(await failure(collect(nobody.readStream(name)))).toMatchObject(DENIED)
  await bob.dispose()
  await nobody.dispose()
})

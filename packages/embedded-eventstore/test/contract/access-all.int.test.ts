import { jsonEvent, START, type EventStoreDBClient } from '@eventstore/db-client'
import { afterEach, expect, test } from 'vitest'
import { collect, counted, failure, takeUntil } from './contract-store.ts'
import { securedStore, type Account } from './secured-store.ts'

const { as, stream } = securedStore()

const DENIED = { type: 'access-denied' }

/** These tests change settings of all streams of the store. */
afterEach(async () => {
  await as('admin').setStreamMetadata('$all', {})
  await as('admin').appendToStream('$settings', jsonEvent({ type: '$settings', data: {} }))
})

const setDefaults = (data: object): Promise<unknown> =>
  as('admin').appendToStream('$settings', jsonEvent({ type: '$settings', data: { ...data } }))
const readAll = (client: EventStoreDBClient): Promise<unknown[]> => collect(client.readAll({ maxCount: 1 }))
const subscribeToAll = (client: EventStoreDBClient): Promise<unknown[]> =>
  takeUntil(client.subscribeToAll({ fromPosition: START }), (events) => events.length === 1)

test.each(['nobody', 'bob', 'operator'] as const)('$all is not readable for %s', async (account) => {
  expect(await failure(readAll(as(account)))).toMatchObject(DENIED)
  expect(await failure(subscribeToAll(as(account)))).toMatchObject(DENIED)
})

test('$all is readable for administrators and for the roles in its access list', async () => {
  expect(await readAll(as('admin'))).toHaveLength(1)
  await as('admin').setStreamMetadata('$all', { acl: { readRoles: ['doctors'] } })
  expect(await readAll(as('alice'))).toHaveLength(1)
  expect(await subscribeToAll(as('alice'))).toHaveLength(1)
  expect(await failure(readAll(as('bob')))).toMatchObject(DENIED)
})

test('$settings defines the rights to streams without an access list', async () => {
  const ordinary = stream()
  const system = stream('$secured')
  await as('admin').appendToStream(ordinary, counted(0))
  await as('admin').appendToStream(system, counted(0))
  const canRead = async (account: Account, name: string): Promise<boolean> => {
    try {
      await collect(as(account).readStream(name))
      return true
    } catch (error) {
      expect(error).toMatchObject(DENIED)
      return false
    }
  }
  await setDefaults({ $userStreamAcl: { $r: 'doctors' }, $systemStreamAcl: { $r: ['$admins', 'contract-bob'] } })
  expect(await canRead('alice', ordinary)).toBe(true)
  expect(await canRead('bob', ordinary)).toBe(false)
  expect(await canRead('bob', system)).toBe(true)
  expect(await canRead('alice', system)).toBe(false)
  expect((await as('bob').appendToStream(ordinary, counted(1))).success).toBe(true)
  await as('admin').setStreamMetadata(ordinary, { acl: { writeRoles: ['$all'] } })
  expect(await canRead('bob', ordinary)).toBe(false)
  await as('admin').setStreamMetadata(ordinary, { acl: { readRoles: ['contract-bob'] } })
  expect(await canRead('bob', ordinary)).toBe(true)
  expect(await canRead('alice', ordinary)).toBe(false)
})

test.each([
  { what: 'an unknown right', data: { $userStreamAcl: { $x: 'doctors', $r: 'doctors' } } },
  { what: 'a role that is no text', data: { $userStreamAcl: { $r: [1] } } },
  { what: 'something else than JSON', data: 'no object' },
])('$settings with $what have no effect', async ({ data }) => {
  const name = stream()
  await as('admin').appendToStream(name, counted(0))
  await setDefaults({ $userStreamAcl: { $r: 'doctors' } })
  expect(await failure(collect(as('bob').readStream(name)))).toMatchObject(DENIED)
  await as('admin').appendToStream('$settings', jsonEvent({ type: '$settings', data }))
  expect(await collect(as('bob').readStream(name))).toHaveLength(1)
})

import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { endTokenKey } from '../../../app/keys/end-token-key.ts'
import { followErasures } from '../../../contracts/users/erasures.ts'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { openEventStore } from '../../../engine/store/event-store.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { embeddedEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { ids } from '../../streams/facts.ts'
import { notificationFact } from '../../streams/notification-facts.ts'
import { newContext } from '../../engine/store/fixtures.ts'
import { userFact } from '../../streams/user-facts.ts'

const masterKeys = parseMasterKeys(`test:${randomBytes(32).toString('base64')}`)
const closing: (() => Promise<void>)[] = []
let node: TestEventStore
let database: FreshDatabase

beforeAll(async () => {
  ;[node, database] = await Promise.all([embeddedEventStore(), freshDatabase()])
})
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})
afterAll(async () => {
  await Promise.all([node.stop(), database.drop()])
})

/** A process of the installation, with connections and caches of its own. It follows erasures from its start on. */
async function startProcess() {
  const vault = await openVault({ url: database.vaultUrl, masterKeys })
  const store = await openEventStore({ url: node.url, catalogue, vault })
  const from = await store.head({ streamPrefixes: ['user-'] })
  const erasures = followErasures({ store, vault, from })
  closing.push(
    () => vault.close(),
    () => store.close(),
    () => erasures.close(),
  )
  return { vault, store }
}

/** A user, and a notification that is encrypted with the user's key. */
function someone() {
  const [userId, notificationId] = [randomUUID(), randomUUID()]
  const created = { notificationId, phiSubject: userId, phiKeyOwner: 'platform' } as const
  return {
    userId,
    user: users.of(userId),
    notification: notifications.of(ids.org, notificationId),
    userCreated: userFact('UserCreated', { userId }),
    erasureStarted: userFact('UserErasureStarted', { userId }),
    keyDestroyed: userFact('UserKeyDestroyed', { userId }),
    notificationCreated: notificationFact('NotificationCreated', created),
  }
}

test('a process drops the states of a user whom another process erases, before the key is destroyed', async () => {
  const [eraser, other] = [await startProcess(), await startProcess()]
  const { user, notification, ...facts } = someone()
  await eraser.store.append(user, 'no_stream', [facts.userCreated], newContext())
  await eraser.store.append(notification, 'no_stream', [facts.notificationCreated], newContext())
  expect((await other.store.load(user)).state).toMatchObject({ email: facts.userCreated.data.email })
  expect((await other.store.load(notification)).state).toMatchObject({ variables: '{"outcome":"canary-outcome"}' })

  await eraser.store.append(user, 0n, [facts.erasureStarted], newContext())
  await expect.poll(() => other.store.presume(user).revision, { timeout: 20_000 }).toBe('no_stream')
  expect((await other.store.loadCached(user)).state).toMatchObject({ status: 'erased', email: null })
  expect((await other.store.loadCached(notification)).state).toMatchObject({ variables: null })
})

test('a process that starts between the start of an erasure and the end of the key drops its states with the key', async () => {
  const eraser = await startProcess()
  const { userId, user, notification, ...facts } = someone()
  await eraser.store.append(notification, 'no_stream', [facts.notificationCreated], newContext())
  await eraser.store.append(user, 'no_stream', [facts.userCreated, facts.erasureStarted], newContext())
  const late = await startProcess()
  expect((await late.store.load(notification)).state).toMatchObject({ variables: '{"outcome":"canary-outcome"}' })

  await eraser.vault.destroySubject(noOrganisation, userId)
  await eraser.store.append(user, 1n, [facts.keyDestroyed], newContext())
  await expect.poll(() => late.store.presume(notification).revision, { timeout: 20_000 }).toBe('no_stream')
  expect((await late.store.loadCached(notification)).state).toMatchObject({ variables: null })
})

test('a process without routes stops signing with a key of tokens that another process ends', async () => {
  const [ending, other] = [await startProcess(), await startProcess()]
  const { kid } = await other.vault.signingKey('token')
  await endTokenKey(ending, kid, new Date())
  await expect.poll(async () => (await other.vault.signingKey('token')).kid, { timeout: 20_000 }).not.toBe(kid)
})

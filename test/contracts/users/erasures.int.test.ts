import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { endTokenKey } from '../../../app/keys/end-token-key.ts'
import { followErasures } from '../../../contracts/users/erasures.ts'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { givenInstallation, type InstalledProcess } from '../../support/installation.ts'
import { ids } from '../../streams/facts.ts'
import { notificationFact } from '../../streams/notification-facts.ts'
import { newContext } from '../../engine/store/fixtures.ts'
import { userFact } from '../../streams/user-facts.ts'

const installation = givenInstallation()

/** A process that follows erasures from its start on. */
async function startProcess(): Promise<InstalledProcess> {
  const process = await installation.startProcess()
  const from = await process.store.head({ streamPrefixes: ['user-'] })
  const erasures = followErasures({ ...process, from })
  installation.afterTest(() => erasures.close())
  return process
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

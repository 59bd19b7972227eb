import { randomUUID } from 'node:crypto'
import { decodeProtectedHeader } from 'jose'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { followTokenEndings } from '../../../contracts/auth/token-endings.ts'
import { endTokenKey } from '../../../app/keys/end-token-key.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { oauthClients } from '../../../streams/oauth-client/aggregate.ts'
import { oauthClientEvents, type OauthClientEvent } from '../../../streams/oauth-client/events.ts'
import { tokenKeys } from '../../../streams/token-key/aggregate.ts'
import { createTokenIssuer } from '../../../platform/http/tokens.ts'
import { createCatalogue } from '../../../engine/store/catalogue.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { openDecisionWorld, watched, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { append, registerTestClient, startAuthApi, type AuthApi, type TestClient } from './auth-api.ts'

/** Of a program that does not know one of the types. */
const { OauthClientEnabled: _, ...knownEvents } = oauthClientEvents
const ofOlderProgram = createCatalogue([{ category: oauthClients.category, events: knownEvents }])

let world: DecisionWorld
/** Two API processes with one log. */
let api: AuthApi
let other: AuthApi

beforeAll(async () => {
  world = await openDecisionWorld()
  api = await startAuthApi(world)
  other = await startAuthApi(world, world.otherStore)
})

afterAll(async () => {
  await Promise.all([api.close(), other.close()])
  await world.close()
})

const at = () => world.now().toISOString()
const valid = [200, undefined]
const refused = [401, 'token-invalid']

/** Until both processes refuse the token. The bound is generous: the machine may be busy. */
async function untilRefused(token: string): Promise<void> {
  for (const each of [api, other]) await expect.poll(() => each.use(token), { timeout: 20_000 }).toEqual(refused)
}

/** Both processes have the token in their cache of verified tokens. */
async function tokenInUse(client: TestClient): Promise<string> {
  const token = await api.tokenOf(client)
  expect([await api.use(token), await other.use(token)]).toEqual([valid, valid])
  return token
}

const disable = ({ clientId }: TestClient) =>
  append(world, clientId, { type: 'OauthClientDisabled', data: { clientId, disabledAt: at() } })
const enable = ({ clientId }: TestClient) =>
  append(world, clientId, { type: 'OauthClientEnabled', data: { clientId, enabledAt: at() } })

test('a token that is revoked at one process is refused by both, and by a process that starts later', async () => {
  const client = await registerTestClient(world)
  const [token, kept] = [await tokenInUse(client), await tokenInUse(client)]
  const { clientId: client_id, secret: client_secret } = client
  expect((await other.post('revoke', { client_id, client_secret, token })).status).toBe(200)
  await untilRefused(token)
  const restarted = await startAuthApi(world, world.otherStore)
  expect([await restarted.use(token), await restarted.use(kept), await api.use(kept)]).toEqual([refused, valid, valid])
  await restarted.close()
})

test('a process whose clock was ahead forgets no revocation of a token that is valid', async () => {
  let aheadMs = 3 * 3_600_000
  const now = () => new Date(world.now().getTime() + aheadMs)
  const endings = followTokenEndings({ store: world.store, vault: world.vault, now })
  await endings.caughtUp
  const client = await registerTestClient(world)
  const { clientId: client_id, secret: client_secret } = client
  const revokedToken = async () => {
    const token = await api.tokenOf(client)
    expect((await api.post('revoke', { client_id, client_secret, token })).status).toBe(200)
    return api.issuer.read(token)
  }
  const hasEnded = (token: Parameters<typeof endings.hasEnded>[0]) =>
    expect.poll(() => endings.hasEnded(token), { timeout: 20_000 }).toBe(true)
  await hasEnded(await revokedToken())

  aheadMs = 72 * 3_600_000
  await revokedToken()
  const disabled = await registerTestClient(world)
  const token = await api.issuer.read(await api.tokenOf(disabled))
  await disable(disabled)
  await hasEnded(token)
  aheadMs = 0
  await hasEnded(await revokedToken())
  await endings.close()
})

test('a disabled client ends all of its tokens; enabled again, only its new ones are valid', async () => {
  const client = await registerTestClient(world)
  const token = await tokenInUse(client)
  await disable(client)
  await untilRefused(token)
  await enable(client)
  // The clock stands still: both tokens have the same `iat`.
  const renewed = await tokenInUse(client)
  await untilRefused(token)
  expect([await api.use(renewed), await other.use(renewed)]).toEqual([valid, valid])
})

test('a narrowed client ends its older tokens, by the order of events', async () => {
  const client = await registerTestClient(world)
  const { clientId } = client
  const token = await tokenInUse(client)
  const described = { name: 'a client', productId: null, trustedActorContext: false, jwks: null, jwksUri: null }
  await append(
    world,
    clientId,
    { type: 'OauthClientChanged', data: { ...described, clientId, scopes: ['things:read'], changedAt: at() } },
    { type: 'OauthClientNarrowed', data: { clientId, narrowedAt: at() } },
  )
  await untilRefused(token)
  const renewed = await tokenInUse(client)
  expect((await api.issuer.verify(renewed)).scopes).toEqual(['things:read'])
})

test('a deleted client ends all of its tokens', async () => {
  const client = await registerTestClient(world)
  const { clientId } = client
  const token = await tokenInUse(client)
  await append(world, clientId, { type: 'OauthClientDeleted', data: { clientId, deletedAt: at() } })
  await untilRefused(token)
})

test('a removed secret ends the tokens that it gave, and no others', async () => {
  const client = await registerTestClient(world)
  const { clientId, secretId: firstId } = client
  const [secretId, secret] = [randomUUID(), randomUUID()]
  const added = { clientId, secretId, hash: world.vault.fingerprint(secret), expiresAt: null, fingerprint: null }
  await append(world, clientId, { type: 'OauthClientSecretAdded', data: { ...added, addedAt: at() } })
  const [ofFirst, ofSecond] = [await tokenInUse(client), await tokenInUse({ ...client, secret })]
  await append(world, clientId, {
    type: 'OauthClientSecretRemoved',
    data: { clientId, secretId: firstId, removedAt: at() },
  })
  await untilRefused(ofFirst)
  expect([await api.use(ofSecond), await other.use(ofSecond)]).toEqual([valid, valid])
})

test('an ended key ends all tokens that it signed, and another key signs at once, also after a restart', async () => {
  const client = await registerTestClient(world)
  const token = await tokenInUse(client)
  const { kid } = await world.vault.signingKey('token')
  const ended = await endTokenKey(world, kid, world.now())
  expect(ended).toEqual({ kid, signs: expect.not.stringMatching(kid) })
  await untilRefused(token)
  const renewed = await tokenInUse(client)
  expect(decodeProtectedHeader(renewed).kid).toBe(ended.signs)
  expect((await world.vault.publicKeys('token')).map((key) => key.kid)).toEqual([ended.signs])

  // A repeat changes nothing. An id that the vault never had is refused.
  expect(await endTokenKey(world, kid, world.now())).toEqual(ended)
  expect((await world.store.load(tokenKeys.of(kid))).revision).toBe(0n)
  await expect(endTokenKey(world, 'k'.repeat(43), world.now())).rejects.toThrow('the vault has no key kkk')
  const restarted = await startAuthApi(world, world.otherStore)
  expect([await restarted.use(token), await restarted.use(renewed)]).toEqual([refused, valid])
  await restarted.close()
})

test('a key that was ended, but not destroyed before a crash, signs and verifies nothing after a start', async () => {
  const client = await registerTestClient(world)
  const token = await tokenInUse(client)
  const { kid } = await world.vault.signingKey('token')
  await world.vault.rotateSigningKey('token')
  const data = { kid, endedBy: 'operator', endedAt: at() }
  const context = { commandId: randomUUID(), correlationId: randomUUID(), process: 'keys' }
  await world.store.append(tokenKeys.of(kid), 'no_stream', [{ type: 'TokenKeyEnded', data }], context)
  await untilRefused(token)
  expect((await world.vault.signingKey('token')).kid).not.toBe(kid)
  expect((await endTokenKey(world, kid, world.now())).signs).not.toBe(kid)
  expect((await world.vault.inventory()).keys.map(({ id }) => id)).not.toContain(kid)
})

test('a key whose last tokens have expired does not sign again when its successor ends', async () => {
  const { kid: old } = await world.vault.signingKey('token')
  const { kid } = await world.vault.rotateSigningKey('token')
  const client = new Client({ connectionString: world.vaultUrl })
  await client.connect()
  await client.query(
    `update vault_secrets set created_at = created_at - interval '2 days' where kind = 'signing-token'`,
  )
  await client.end()
  expect((await world.vault.publicKeys('token')).map((key) => key.kid)).toEqual([kid])
  const { signs } = await endTokenKey(world, kid, world.now())
  expect([old, kid]).not.toContain(signs)
  expect((await world.vault.publicKeys('token')).map((key) => key.kid)).toEqual([signs])
})

test('a key that was ended, but not destroyed before a crash, is not the one that signs when the next one ends', async () => {
  const { kid: old } = await world.vault.signingKey('token')
  const { kid } = await world.vault.rotateSigningKey('token')
  const data = { kid: old, endedBy: 'operator', endedAt: at() }
  const context = { commandId: randomUUID(), correlationId: randomUUID(), process: 'keys' }
  await world.store.append(tokenKeys.of(old), 'no_stream', [{ type: 'TokenKeyEnded', data }], context)
  const { signs } = await endTokenKey(world, kid, world.now())
  expect([old, kid]).not.toContain(signs)
  const client = await registerTestClient(world)
  await expect.poll(async () => decodeProtectedHeader(await api.tokenOf(client)).kid, { timeout: 20_000 }).toBe(signs)
})

test('two operators who end all keys at once leave one that signs', async () => {
  const { kid } = await world.vault.signingKey('token')
  const { kid: next } = await world.vault.rotateSigningKey('token')
  const vault = await openVault({ url: world.vaultUrl, masterKeys: parseMasterKeys(world.masterKeys) })
  let ofOther: ReturnType<typeof endTokenKey> | undefined
  // The other one ends its key after both have seen that it is not the only one.
  const store = watched(world.store, async () => {
    ofOther ??= endTokenKey({ store: world.otherStore, vault }, next, world.now())
    await ofOther
  })
  const { signs } = await endTokenKey({ store, vault: world.vault }, kid, world.now())
  expect([kid, next]).not.toContain(signs)
  expect((await world.vault.inventory()).keys.filter(({ purpose }) => purpose === 'token')).toMatchObject([
    { id: signs },
  ])
  const client = await registerTestClient(world)
  await expect.poll(async () => decodeProtectedHeader(await api.tokenOf(client)).kid, { timeout: 20_000 }).toBe(signs)
  await vault.close()
})

test('a token whose signature is being checked while its key ends is refused', async () => {
  const token = await api.tokenOf(await registerTestClient(world))
  const { kid } = await world.vault.signingKey('token')
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { issuer, audience } = api.issuer
  const endings = followTokenEndings({ store: world.store, vault: world.vault, now: world.now })
  await endings.caughtUp
  const before = endings.endedKeys
  const slow = createTokenIssuer({
    issuer,
    audience,
    ttlSeconds: 60,
    now: world.now,
    endings,
    keys: {
      signingKey: (purpose) => world.vault.signingKey(purpose),
      // It reads the keys before the end, and answers after it.
      publicKeys: async (purpose) => {
        const keys = await world.vault.publicKeys(purpose)
        asked.resolve()
        await answered.promise
        return keys
      },
    },
  })
  const verified = slow.verify(token)
  await asked.promise
  await endTokenKey(world, kid, world.now())
  await expect.poll(() => endings.endedKeys, { timeout: 20_000 }).toBe(before + 1)
  answered.resolve()
  await expect(verified).rejects.toMatchObject({ name: 'TokenRejectedError', reason: 'invalid' })
  await endings.close()
})

test('without the event store, tokens are verified for ten seconds and refused later', async () => {
  const token = await api.issuer.read(await api.tokenOf(await registerTestClient(world)))
  const store = await world.storeOf(catalogue)
  let clock = 0
  const endings = followTokenEndings({ store, vault: world.vault, now: world.now, clockMs: () => clock })
  expect(endings.isCurrent()).toBe(false)
  expect(() => endings.hasEnded(token)).toThrow('whether tokens were revoked')
  await endings.caughtUp
  expect([endings.hasEnded(token), endings.isCurrent()]).toEqual([false, true])
  await store.close()
  clock = 10_000
  expect([endings.hasEnded(token), endings.isCurrent()]).toEqual([false, true])
  clock = 10_001
  expect(endings.isCurrent()).toBe(false)
  expect(() => endings.hasEnded(token)).toThrow('whether tokens were revoked')
  await endings.close()
})

test('an unreadable event of a client ends the tokens of that client only', async () => {
  const newer = await registerTestClient(world)
  const older = await registerTestClient(world)
  const token = await tokenInUse(newer)
  const alien: OauthClientEvent = { type: 'OauthClientEnabled', data: { clientId: newer.clientId, enabledAt: at() } }
  await append(world, newer.clientId, alien)
  const follower = followTokenEndings({
    store: await world.storeOf(ofOlderProgram),
    vault: world.vault,
    now: world.now,
  })
  await follower.caughtUp
  expect(follower.hasEnded(await api.issuer.read(token))).toBe(true)
  expect(follower.hasEnded(await api.issuer.read(await tokenInUse(older)))).toBe(false)
  await follower.close()
})

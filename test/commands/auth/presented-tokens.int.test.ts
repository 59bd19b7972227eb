import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import {
  append,
  baseUrl,
  registerTestClient,
  startAuthApi,
  stateOf,
  type AuthApi,
  type TestClient,
} from './auth-api.ts'

let world: DecisionWorld
let api: AuthApi
let client: TestClient
let neighbour: TestClient
let platform: TestClient

beforeAll(async () => {
  world = await openDecisionWorld()
  api = await startAuthApi(world)
  client = await registerTestClient(world)
  neighbour = await registerTestClient(world)
  platform = await registerTestClient(world, { orgId: null })
})

afterAll(async () => {
  await api.close()
  await world.close()
})

const as = ({ clientId, secret }: TestClient) => ({ client_id: clientId, client_secret: secret })

test('a client sees its own tokens, a platform client all; others learn nothing', async () => {
  const token = await api.tokenOf(client)
  const verified = await api.issuer.read(token)
  const whole = {
    active: true,
    scope: 'things:read things:write',
    client_id: client.clientId,
    token_type: 'Bearer',
    exp: verified.expiresAt,
    iat: verified.issuedAt,
    sub: client.clientId,
    aud: baseUrl,
    iss: `${baseUrl}/v1/auth`,
    jti: verified.tokenId,
    org_id: world.orgId,
  }
  expect((await api.post('introspect', { ...as(client), token })).body).toEqual(whole)
  expect((await api.post('introspect', { ...as(platform), token, token_type_hint: 'access_token' })).body).toEqual(
    whole,
  )
  expect((await api.post('introspect', { ...as(neighbour), token })).body).toEqual({ active: false })
  const ofPlatform = await api.tokenOf(platform)
  expect((await api.post('introspect', { ...as(client), token: ofPlatform })).body).toEqual({ active: false })
})

test('what is no valid token is not active, and 200 to a revocation', async () => {
  const texts = ['', 'no token', 'a.b.c', 'x'.repeat(10_000), `${await api.tokenOf(client)}x`]
  for (const token of texts) {
    const asked = await api.post('introspect', { ...as(client), token })
    expect([asked.status, asked.body]).toEqual([200, { active: false }])
    const revoked = await api.post('revoke', { ...as(client), token })
    expect([revoked.status, revoked.text]).toEqual([200, ''])
  }
})

test('a revoked token is inactive at once, and the revocation is one event', async () => {
  const [token, other] = [await api.tokenOf(client), await api.tokenOf(client)]
  const { applied } = await stateOf(world, client.clientId)
  const answers = await Promise.all([1, 2, 3].map(() => api.post('revoke', { ...as(client), token })))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect((await stateOf(world, client.clientId)).applied).toBe(applied + 1)
  expect((await api.post('introspect', { ...as(client), token })).body).toEqual({ active: false })
  expect((await api.post('introspect', { ...as(client), token: other })).body['active']).toBe(true)
  await expect.poll(() => api.use(token)).toEqual([401, 'token-invalid'])
  expect(await api.use(other)).toEqual([200, undefined])
})

test('a client cannot revoke the token of another; a platform client can', async () => {
  const token = await api.tokenOf(client)
  expect((await api.post('revoke', { ...as(neighbour), token })).status).toBe(200)
  expect((await api.post('introspect', { ...as(client), token })).body['active']).toBe(true)
  expect((await api.post('revoke', { ...as(platform), token })).status).toBe(200)
  expect((await api.post('introspect', { ...as(client), token })).body).toEqual({ active: false })
})

test('introspection knows of every other end: secret, scopes, client, time', async () => {
  const at = () => world.now().toISOString()
  const ended = async (end: (of: TestClient) => Promise<void>) => {
    const ending = await registerTestClient(world)
    const token = await api.tokenOf(ending)
    expect((await api.post('introspect', { ...as(platform), token })).body['active']).toBe(true)
    await end(ending)
    return (await api.post('introspect', { ...as(platform), token })).body
  }
  const ends = [
    await ended(({ clientId, secretId }) =>
      append(
        world,
        clientId,
        {
          type: 'OauthClientSecretAdded',
          data: {
            clientId,
            secretId: randomUUID(),
            hash: '0'.repeat(64),
            expiresAt: null,
            addedAt: at(),
            fingerprint: null,
          },
        },
        { type: 'OauthClientSecretRemoved', data: { clientId, secretId, removedAt: at() } },
      ),
    ),
    await ended(({ clientId }) =>
      append(world, clientId, { type: 'OauthClientNarrowed', data: { clientId, narrowedAt: at() } }),
    ),
    await ended(({ clientId }) =>
      append(world, clientId, { type: 'OauthClientDeleted', data: { clientId, deletedAt: at() } }),
    ),
    await ended(async () => world.pass(3_601)),
  ]
  expect(ends).toEqual(ends.map(() => ({ active: false })))
})

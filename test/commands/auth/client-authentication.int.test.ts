import { randomUUID } from 'node:crypto'
import { SignJWT, exportJWK, generateKeyPair, type CryptoKey } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Check } from 'typebox/schema'
import { ClientKey } from '../../../streams/oauth-client/events.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { append, baseUrl, grant, registerTestClient, startAuthApi, type AuthApi, type TestClient } from './auth-api.ts'

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

let world: DecisionWorld
/** Two processes with the same vault and log. */
let api: AuthApi
let other: AuthApi
let client: TestClient
let signer: TestClient
const keys = new Map<string, CryptoKey>()

beforeAll(async () => {
  world = await openDecisionWorld()
  api = await startAuthApi(world)
  other = await startAuthApi(world, world.otherStore)
  client = await registerTestClient(world)
  signer = await registerTestClient(world, {
    authMethod: 'private_key_jwt',
    secret: null,
    jwks: [await newKey('rsa', 'RS384'), await newKey('ec', 'ES384')],
  })
})

afterAll(async () => {
  await Promise.all([api.close(), other.close()])
  await world.close()
})

async function newKey(kid: string, alg: 'RS384' | 'ES384'): Promise<ClientKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  keys.set(kid, privateKey)
  const key: unknown = { ...(await exportJWK(publicKey)), kid }
  if (!Check(ClientKey, key)) throw new Error(`no ${alg} key was made`)
  return key
}

interface Changes {
  readonly kid?: string
  readonly alg?: string
  readonly typ?: string
  readonly claims?: Readonly<Record<string, unknown>>
  readonly without?: string
  readonly signWith?: string
}

const seconds = (fromNow = 0) => Math.floor(world.now().getTime() / 1000) + fromNow

async function assertion(changes: Changes = {}): Promise<string> {
  const { kid = 'rsa', alg = kid === 'ec' ? 'ES384' : 'RS384', typ = 'JWT', claims = {}, without = '' } = changes
  const id = signer.clientId
  const all = { iss: id, sub: id, aud: `${baseUrl}/v1/auth/oauth/token`, exp: seconds(300), jti: randomUUID() }
  const payload = Object.fromEntries(Object.entries({ ...all, ...claims }).filter(([name]) => name !== without))
  const key = keys.get(changes.signWith ?? kid)
  if (key === undefined) throw new Error('no such key')
  return new SignJWT(payload).setProtectedHeader({ alg, typ, kid }).sign(key)
}

const signed = (text: string) => ({ ...grant, client_assertion_type: assertionType, client_assertion: text })
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
})

describe('a secret', () => {
  test('in the header or in the form gives a token that names the secret', async () => {
    const { clientId, secret, secretId } = client
    const answers = [
      await api.post('token', grant, basic(clientId, secret)),
      await api.post('token', { ...grant, client_id: clientId, client_secret: secret }),
    ]
    for (const { status, body } of answers) {
      expect([status, body['token_type'], body['expires_in'], body['scope']]).toEqual([
        200,
        'Bearer',
        3600,
        'things:read things:write',
      ])
      const token = await api.issuer.verify(String(body['access_token']))
      expect(token).toMatchObject({ clientId, secretId, orgId: world.orgId })
    }
  })

  test('gives no token that is too long to be accepted', async () => {
    const scopes = Array.from({ length: 200 }, (_, place) => `recalls:plans-of-the-region-${place}:read`)
    const { clientId, secret } = await registerTestClient(world, { scopes })
    const inForm = { ...grant, client_id: clientId, client_secret: secret }
    const { status, body } = await api.post('token', inForm)
    expect([status, body['error']]).toEqual([400, 'invalid_scope'])
    const { body: some } = await api.post('token', { ...inForm, scope: scopes.slice(0, 50).join(' ') })
    expect(await api.use(String(some['access_token']))).toEqual([200, undefined])
  })

  test('is one way of several; two ways at once are refused', async () => {
    const { clientId, secret } = client
    const inForm = { client_id: clientId, client_secret: secret }
    const answers = [
      await api.post('token', { ...grant, ...inForm }, basic(clientId, secret)),
      await api.post('token', { ...signed(await assertion()), ...inForm }),
      await api.post('token', signed(await assertion()), basic(clientId, secret)),
    ]
    expect(answers.map(({ status, body }) => [status, body['error']])).toEqual(
      answers.map(() => [400, 'invalid_request']),
    )
  })

  test('with an end gives tokens that end with it', async () => {
    const [secretId, secret] = [randomUUID(), randomUUID()]
    const hash = world.vault.fingerprint(secret)
    const expiresAt = new Date(world.now().getTime() + 90_000).toISOString()
    const ending = await registerTestClient(world, { secret: { secretId, hash, expiresAt } })
    const form = { ...grant, client_id: ending.clientId, client_secret: secret }
    const { body } = await api.post('token', form)
    expect(body['expires_in']).toBe(90)
    world.pass(91)
    expect(await api.use(String(body['access_token']))).toEqual([401, 'token-expired'])
    expect(await api.post('token', form)).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
  })

  test.each<[string, Record<string, string>]>([
    ['a wrong secret', { client_secret: 'wrong' }],
    ['an unknown client', { client_id: randomUUID() }],
    ['a client id that is none', { client_id: 'nobody' }],
  ])('is refused for %s', async (_, change) => {
    const { clientId, secret } = client
    const answer = await api.post('token', { ...grant, client_id: clientId, client_secret: secret, ...change })
    expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect(answer.headers['www-authenticate']).toBe('Basic realm="clinical-assessment-platform"')
  })

  test('of a disabled client is refused', async () => {
    const disabled = await registerTestClient(world)
    const { clientId, secret } = disabled
    const at = world.now().toISOString()
    await append(world, clientId, { type: 'OauthClientDisabled', data: { clientId, disabledAt: at } })
    const answer = await api.post('token', { ...grant, client_id: clientId, client_secret: secret })
    expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
  })
})

describe('an assertion (private_key_jwt)', () => {
  test.each([['rsa'], ['ec']])('signed by the %s key gives a token at each endpoint', async (kid) => {
    const { status, body } = await api.post('token', signed(await assertion({ kid })))
    expect([status, body['token_type']]).toEqual([200, 'Bearer'])
    const token = String(body['access_token'])
    expect(await api.issuer.verify(token)).toMatchObject({ clientId: signer.clientId, secretId: null })
    const introspected = await api.post('introspect', { ...signed(await assertion({ kid })), token })
    expect(introspected).toMatchObject({ status: 200, body: { active: true, client_id: signer.clientId } })
    expect((await api.post('revoke', { ...signed(await assertion({ kid })), token })).status).toBe(200)
    await expect.poll(() => api.use(token)).toEqual([401, 'token-invalid'])
  })

  test('is accepted once by all processes, also when both get it at once', async () => {
    const once = signed(await assertion())
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? api : other).post('token', once)),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 401)).toHaveLength(9)
    const restarted = await startAuthApi(world, world.otherStore)
    expect((await restarted.post('token', once)).status).toBe(401)
    await restarted.close()
  })

  test('is remembered until it is too old, and forgotten later', async () => {
    const id = randomUUID()
    const until = new Date(world.now().getTime() + 1_000)
    const use = (now: Date) => world.vault.useOnce(id, { until, now })
    expect([await use(world.now()), await use(world.now())]).toEqual([true, false])
    expect(await use(new Date(until.getTime() + 600_001))).toBe(true)
  })

  test.each<[string, Changes]>([
    ['of another key', { signWith: 'ec', alg: 'ES384' }],
    ['with an unknown key id', { kid: 'unknown', signWith: 'rsa' }],
    ['of another algorithm of the same key', { alg: 'RS256' }],
    ['of another type', { typ: 'at+jwt' }],
    ['from another issuer', { claims: { iss: randomUUID() } }],
    ['about another client', { claims: { sub: randomUUID() } }],
    ['for another audience', { claims: { aud: `${baseUrl}/v1/auth` } }],
    ['for two audiences', { claims: { aud: [`${baseUrl}/v1/auth/oauth/token`, 'https://other.test'] } }],
    ['without audience', { without: 'aud' }],
    ['without end', { without: 'exp' }],
    ['without id', { without: 'jti' }],
    ['with an empty id', { claims: { jti: '' } }],
    ['with an id that is too long', { claims: { jti: 'x'.repeat(256) } }],
    ['with an id that is a number', { claims: { jti: 7 } }],
    ['that has ended', { claims: { exp: 1_000 } }],
    ['that lives longer than five minutes', { claims: { exp: 9_999_999_999 } }],
    ['that is not valid yet', { claims: { nbf: 9_999_999_999 } }],
    ['of the future', { claims: { iat: 9_999_999_999 } }],
  ])('%s is refused', async (_, changes) => {
    const made =
      changes.alg === 'RS256'
        ? (await assertion()).replace(/^[^.]+/, Buffer.from('{"alg":"RS256","kid":"rsa"}').toString('base64url'))
        : changes.signWith === 'ec'
          ? await assertion({ ...changes, kid: 'rsa' })
          : await assertion(changes)
    expect(await api.post('token', signed(made))).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
  })

  test('is refused without signature, with another form, and from a client that has secrets', async () => {
    const [header, payload] = (await assertion()).split('.')
    const unsigned = `${Buffer.from('{"alg":"none","kid":"rsa"}').toString('base64url')}.${payload}.`
    const answers = [
      await api.post('token', signed(unsigned)),
      await api.post('token', signed(`${header}.${payload}.`)),
      await api.post('token', signed('no token')),
      await api.post('token', { ...signed(await assertion()), client_id: client.clientId }),
      await api.post('token', { ...signed(await assertion()), client_assertion_type: 'urn:other' }),
      await api.post('token', signed(await assertion({ claims: { iss: client.clientId, sub: client.clientId } }))),
      await api.post('token', { ...grant, client_id: signer.clientId, client_secret: '' }),
    ]
    expect(answers.map(({ body }) => body['error'])).toEqual(answers.map(() => 'invalid_client'))
    const lacking = await api.post('token', { ...grant, client_assertion: await assertion() })
    expect(lacking).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })
})

test.each(['token', 'introspect', 'revoke'] as const)(
  '%s answers 415 in its own form to another type',
  async (route) => {
    const answer = await api.post(route, {}, { 'content-type': 'application/json' })
    expect(answer).toMatchObject({ status: 415, body: { error: 'invalid_request' } })
    expect(answer.body['error_description']).toContain('application/x-www-form-urlencoded')
  },
)

test.each(['introspect', 'revoke'] as const)(
  '%s refuses wrong and missing credentials, and no token',
  async (route) => {
    const { clientId, secret } = client
    const answers = [
      await api.post(route, { token: 'x' }),
      await api.post(route, { token: 'x', client_id: clientId, client_secret: 'wrong' }),
      await api.post(route, { token: 'x' }, { authorization: `Bearer ${await api.tokenOf(client)}` }),
      await api.post(route, { client_id: clientId, client_secret: secret }),
    ]
    expect(answers.map(({ status, body }) => [status, body['error']])).toEqual([
      [401, 'invalid_client'],
      [401, 'invalid_client'],
      [401, 'invalid_client'],
      [400, 'invalid_request'],
    ])
  },
)

test('the metadata document is the same at both places, and names what works', async () => {
  const paths = ['/.well-known/oauth-authorization-server/v1/auth', '/v1/auth/.well-known/oauth-authorization-server']
  const [one, two] = await Promise.all(paths.map((url) => api.t.app.inject({ url })))
  expect([one?.statusCode, one?.json()]).toEqual([200, two?.json()])
  expect(one?.json()).toMatchObject({
    issuer: `${baseUrl}/v1/auth`,
    token_endpoint: `${baseUrl}/v1/auth/oauth/token`,
    introspection_endpoint: `${baseUrl}/v1/auth/oauth/introspect`,
    revocation_endpoint: `${baseUrl}/v1/auth/oauth/revoke`,
    jwks_uri: `${baseUrl}/v1/auth/.well-known/jwks.json`,
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    revocation_endpoint_auth_signing_alg_values_supported: ['RS384', 'ES384'],
  })
  const { paths: documented } = (await api.t.app.inject({ url: '/openapi.json' })).json<{ paths: object }>()
  expect(Object.keys(documented)).toEqual(expect.arrayContaining(paths))
})

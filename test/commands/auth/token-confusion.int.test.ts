import { afterAll, beforeAll, expect, test } from 'vitest'
import { publishedAheadMs } from '../../../platform/vault/signing-keys.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { registerTestClient, startAuthApi, type AuthApi } from './auth-api.ts'
import { kindVectors } from './kind-vectors.ts'
import { memberVectors } from './member-vectors.ts'
import { createTokenMaker, type TokenMaker } from './token-maker.ts'

let world: DecisionWorld
let api: AuthApi
let maker: TokenMaker

beforeAll(async () => {
  world = await openDecisionWorld()
  api = await startAuthApi(world)
  maker = createTokenMaker(world, await registerTestClient(world), await world.vault.signingKey('token'))
})

afterAll(async () => {
  await api.close()
  await world.close()
})

const vectors = [...memberVectors, ...kindVectors]

test('the table has its rows, and its base is a good token', async () => {
  expect(vectors.length).toBeGreaterThanOrEqual(100)
  expect(new Set(vectors.map(([what]) => what)).size).toBe(vectors.length)
  expect(await api.use(maker.ours())).toEqual([200, undefined])
})

test.each(vectors)('%s is no access token', async (_, make) => {
  const answer = await api.t.app.inject({
    url: '/v1/clinical-api/whoami',
    headers: { authorization: `Bearer ${await make(maker)}` },
  })
  const { instance: _i, request_id: _r, ...body } = answer.json<Record<string, unknown>>()
  const isExpired = body['code'] === 'token-expired'
  expect([answer.statusCode, answer.headers['www-authenticate'], body]).toEqual([
    401,
    'Bearer realm="clinical-assessment-platform", error="invalid_token"',
    {
      type: expect.stringMatching(/\/problems\/token-(?:invalid|expired)$/),
      title: isExpired ? 'The access token has expired' : 'The access token is not valid',
      status: 401,
      detail: 'Request a new access token.',
      code: isExpired ? 'token-expired' : 'token-invalid',
      retriable: false,
    },
  ])
})

test.each([
  ['in the address', {}, '?access_token='],
  ['with another scheme', { authorization: 'DPoP ' }, ''],
  ['without a scheme', { authorization: '' }, ''],
  ['as Basic', { authorization: 'Basic ' }, ''],
  ['in another header', { 'x-access-token': '' }, ''],
])('a good token %s opens nothing', async (_, headers: Readonly<Record<string, string>>, query) => {
  const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `${value}${maker.ours()}`]))
  const answer = await api.t.app.inject({
    url: `/v1/clinical-api/whoami${query === '' ? '' : `${query}${maker.ours()}`}`,
    headers: sent,
  })
  expect([answer.statusCode, answer.json<{ code: string }>().code]).toEqual([
    401,
    'authorization' in headers ? 'token-invalid' : 'token-missing',
  ])
})

test('a token of a key that is not published any more is refused', async () => {
  const old = maker.withClaims({ exp: maker.now(3 * 86_400) })
  expect(await api.use(old)).toEqual([200, undefined])
  await world.vault.rotateSigningKey('token')
  world.pass(publishedAheadMs / 1000 + 86_500)
  expect(await api.use(maker.withClaims({ exp: maker.now(3 * 86_400) }))).toEqual([401, 'token-invalid'])
})

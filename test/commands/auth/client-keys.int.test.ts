import { createServer, type RequestListener, type Server } from 'node:http'
import { exportJWK, generateKeyPair } from 'jose'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createClientKeys, type ClientKeys } from '../../../commands/auth/client-keys.ts'
import { loadConfiguration, type Environment } from '../../../platform/configuration/configuration.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import { strongKeys, weakKeys } from './weak-keys.ts'

let server: Server
let egress: Egress
let keys: ClientKeys
let answer: RequestListener
let calls = 0
let nowMs = Date.parse('2026-03-01T10:00:00.000Z')

beforeEach(async () => {
  calls = 0
  server = createServer((request, response) => {
    calls += 1
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open({})
})

afterEach(async () => {
  await egress.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

function open(env: Environment): void {
  const configuration = loadConfiguration(env)
  egress = createEgress({ configuration })
  keys = createClientKeys({ egress, configuration, now: () => new Date(nowMs) })
}

const addressOf = () => {
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/jwks.json`
}
const kidAt = async (kid: string, jwksUri = addressOf()) => (await keys.keyOf({ jwks: null, jwksUri }, kid))?.kid

async function ellipticKey(kid: string) {
  const { publicKey } = await generateKeyPair('ES384', { extractable: true })
  return { ...(await exportJWK(publicKey)), kid }
}

const serve =
  (set: unknown): RequestListener =>
  (_, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(set))

test('keys at an address are cached for five minutes, and fetched once for all who wait', async () => {
  answer = serve({ keys: [await ellipticKey('one')] })
  expect(await Promise.all([kidAt('one'), kidAt('one'), kidAt('one')])).toEqual(['one', 'one', 'one'])
  expect(calls).toBe(1)
  nowMs += 299_000
  expect([await kidAt('one'), calls]).toEqual(['one', 1])
  answer = serve({ keys: [await ellipticKey('two')] })
  nowMs += 2_000
  expect([await kidAt('one'), calls]).toEqual([undefined, 2])
  expect([await kidAt('two'), calls]).toEqual(['two', 2])
})

test('a new key of the client is found within ten seconds, and unknown ids cause no more calls', async () => {
  answer = serve({ keys: [await ellipticKey('one')] })
  expect([await kidAt('one'), await kidAt('new'), calls]).toEqual(['one', undefined, 1])
  answer = serve({ keys: [await ellipticKey('new')] })
  nowMs += 10_000
  expect([await kidAt('new'), calls]).toEqual(['new', 2])
})

test('a clock that went back neither keeps old keys nor hides new ones', async () => {
  answer = serve({ keys: [await ellipticKey('one')] })
  expect(await kidAt('one')).toBe('one')
  answer = serve({ keys: [await ellipticKey('new')] })
  nowMs -= 3_600_000
  expect([await kidAt('new'), calls]).toEqual(['new', 2])
  answer = serve({ keys: [await ellipticKey('newest')] })
  nowMs -= 3_600_000
  expect([await kidAt('new'), calls]).toEqual([undefined, 3])
})

test('an address that fails is asked again after ten seconds; its keys are used until their five minutes are over', async () => {
  answer = serve({ keys: [await ellipticKey('one')] })
  expect(await kidAt('one')).toBe('one')
  answer = (_, response) => response.writeHead(500).end()
  nowMs += 20_000
  expect([await kidAt('other'), await kidAt('one'), await kidAt('other'), calls]).toEqual([
    undefined,
    'one',
    undefined,
    2,
  ])
  nowMs += 300_000
  expect([await kidAt('one'), await kidAt('one'), calls]).toEqual([undefined, undefined, 3])
})

test.each<[string, () => RequestListener]>([
  ['a redirect', () => (_, response) => response.writeHead(302, { location: '/elsewhere' }).end()],
  ['no JSON', () => (_, response) => response.end('<html>')],
  ['another form', () => serve({ keys: 'none' })],
  ['too many keys', () => serve({ keys: Array.from({ length: 101 }, () => ({})) })],
  ['more than 64 KiB', () => serve({ keys: [], padding: 'x'.repeat(70_000) })],
  ['an RSA key without its members', () => serve({ keys: [{ kid: 'one', kty: 'RSA', n: 'AQAB' }] })],
  ['an RSA key that is too large', () => serve({ keys: [{ kid: 'one', kty: 'RSA', n: 'x'.repeat(1367), e: 'AQAB' }] })],
  ['a symmetric key', () => serve({ keys: [{ kid: 'one', kty: 'oct', k: 'c2VjcmV0' }] })],
  ['a key for encryption', () => serve({ keys: [{ kid: 'one', kty: 'RSA', n: 'AQAB', e: 'AQAB', use: 'enc' }] })],
  ['a broken connection', () => (request) => request.socket.destroy()],
])('%s is no key', async (_, made) => {
  answer = made()
  expect([await kidAt('one'), calls]).toEqual([undefined, 1])
})

test('keys of other kinds in the set are passed over', async () => {
  answer = serve({ keys: [{ kid: 'x', kty: 'OKP', crv: 'Ed25519', x: 'AA' }, 7, await ellipticKey('one')] })
  expect(await kidAt('one')).toBe('one')
})

test.each(Object.entries(weakKeys))('a weak key in the set is passed over: %s', async (_, key) => {
  answer = serve({
    keys: [
      { ...key, kid: 'weak' },
      { ...strongKeys['RSA, 2048 bits'], kid: 'one' },
    ],
  })
  expect([await kidAt('weak'), await kidAt('one')]).toEqual([undefined, 'one'])
})

test('production asks https addresses only, and none inside the site', async () => {
  await egress.close()
  open({
    APP_ENV: 'production',
    HOST: '0.0.0.0',
    BASE_URL: 'https://platform.example',
    ESDB_URL: 'esdb+discover://user:secret@store.example:2113',
    DATABASE_URL: 'postgres://u:p@db.example/platform?sslmode=verify-full',
    VAULT_DATABASE_URL: 'postgres://u:p@db.example/vault?sslmode=verify-full',
  })
  answer = serve({ keys: [await ellipticKey('one')] })
  expect(await kidAt('one')).toBeUndefined()
  expect(await kidAt('one', addressOf().replace('http:', 'https:'))).toBeUndefined()
  expect(calls).toBe(0)
})

import { afterEach, describe, expect, it } from 'vitest'
import type { Environment } from '../../../platform/configuration/configuration.ts'
import type { Service } from '../../../platform/http/service.ts'
import type { TokenClaims } from '../../../platform/http/tokens.ts'
import {
  adminSecret,
  orgA,
  orgB,
  startApplication,
  thingId,
  thingService,
  type TestApplication,
} from './test-application.ts'

const production = { APP_ENV: 'production' }
const small = {
  RATE_LIMIT_CLIENT_PER_MINUTE: '60',
  RATE_LIMIT_CLIENT_BURST: '3',
  RATE_LIMIT_ORGANISATION_PER_MINUTE: '10000000',
}
const apps: TestApplication[] = []
let nowMs = 0

afterEach(async () => {
  for (const { app } of apps.splice(0)) await app.close()
})

/**
 * A create route and a token endpoint like the platform's own. The token endpoint has one client with the right secret.
 */
const limited: Service = {
  prefix: 'auth',
  documentedAt: 'prefixed',
  routes: (app) => {
    app.post('/creates', { config: { access: { scopes: ['things:write'] }, rateLimit: 'creates' } }, () => ({
      id: 'x',
    }))
    app.post<{ Body: { id: string; secret: string } }>(
      '/tokens',
      { config: { access: 'public' } },
      (request, reply) => {
        if (request.body.secret !== 'right') {
          app.rateLimits.credentialsRefused(request)
          return reply.code(401).send({})
        }
        app.rateLimits.admitToken(reply, request.body.id)
        return { id: request.body.id }
      },
    )
  },
}

async function start(env: Environment): Promise<TestApplication> {
  nowMs = 1_000_000
  const t = await startApplication({ env, services: [thingService, limited], clockMs: () => nowMs })
  apps.push(t)
  return t
}

async function get(t: TestApplication, claims: Partial<TokenClaims> = {}, url = `/v1/things/${thingId}`) {
  return t.app.inject({ url, headers: await t.token(claims) })
}

/** Parses the two fields by the grammar of RFC 9651: quoted strings with integer parameters. */
function items(field: unknown): Record<string, Record<string, number>> {
  expect(field).toMatch(/^"[a-z]+"(;[a-z]+=\d{1,15})+(, "[a-z]+"(;[a-z]+=\d{1,15})+)*$/)
  return Object.fromEntries(
    String(field)
      .split(', ')
      .map((item) => {
        const [name = '', ...parameters] = item.split(';')
        return [
          name.slice(1, -1),
          Object.fromEntries(parameters.map((one) => [one.split('=')[0], Number(one.split('=')[1])])),
        ]
      }),
  )
}

describe('in production', () => {
  it('every answer to a caller contains its limits and remaining quota', async () => {
    const t = await start(production)
    const first = await get(t)
    expect(items(first.headers['ratelimit-policy'])).toEqual({
      client: { q: 100, w: 10 },
      organisation: { q: 6000, w: 60 },
    })
    expect(items(first.headers['ratelimit'])).toEqual({ client: { r: 99, t: 1 }, organisation: { r: 5999, t: 1 } })
    const refused = await get(t, { scopes: [] })
    expect([refused.statusCode, refused.headers['ratelimit']]).toEqual([403, undefined])
    const missing = await get(t, {}, '/v1/things/nothing')
    expect([missing.statusCode, items(missing.headers['ratelimit'])['client']]).toEqual([404, { r: 98, t: 1 }])
  })

  it('a client over its limit gets Retry-After, and is served after that time', async () => {
    const t = await start({ ...production, ...small })
    for (let left = 2; left >= 0; left -= 1)
      expect(items((await get(t)).headers['ratelimit'])).toMatchObject({ client: { r: left, t: 3 - left } })
    const refused = await get(t)
    expect([refused.statusCode, refused.headers['content-type'], refused.headers['retry-after']]).toEqual([
      429,
      'application/problem+json; charset=utf-8',
      '1',
    ])
    expect(refused.json()).toMatchObject({ code: 'quota-exceeded', status: 429, retriable: true })
    expect(items(refused.headers['ratelimit'])).toMatchObject({ client: { r: 0, t: 3 } })
    expect(items(refused.headers['ratelimit-policy'])).toMatchObject({ client: { q: 3, w: 3 } })
    nowMs += Number(refused.headers['retry-after']) * 1000
    expect((await get(t)).statusCode).toBe(200)
    expect((await get(t)).statusCode).toBe(429)
  })

  it('refused requests use up nothing', async () => {
    const t = await start({ ...production, ...small })
    for (let time = 0; time < 20; time += 1) await get(t)
    nowMs += 2000
    expect([(await get(t)).statusCode, (await get(t)).statusCode, (await get(t)).statusCode]).toEqual([200, 200, 429])
  })

  it('counts clients separately, and those of one organisation also together', async () => {
    const t = await start({ ...production, RATE_LIMIT_CLIENT_BURST: '3', RATE_LIMIT_ORGANISATION_PER_MINUTE: '5' })
    const statuses: number[] = []
    for (const clientId of ['a', 'a', 'a', 'a', 'b', 'b', 'b']) statuses.push((await get(t, { clientId })).statusCode)
    expect(statuses).toEqual([200, 200, 200, 429, 200, 200, 429])
    expect((await get(t, { clientId: 'c', orgId: orgB })).statusCode).toBe(200)
    expect((await get(t, { clientId: 'd', orgId: orgA.toUpperCase() })).statusCode).toBe(429)
  })

  it('creates have a separate limit, shared by all mounts', async () => {
    const t = await start({ ...production, RATE_LIMIT_CREATES_PER_MINUTE: '2' })
    const headers = await t.token()
    const create = (url: string) => t.app.inject({ method: 'POST', url, headers })
    const answers = [await create('/v1/auth/creates'), await create('/v1/creates'), await create('/v1/auth/v1/creates')]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 429])
    expect(items(answers[2]?.headers['ratelimit'])['creates']).toEqual({ r: 0, t: 60 })
    expect(answers[2]?.headers['retry-after']).toBe('30')
    expect((await get(t)).statusCode).toBe(200)
  })

  it('an actor of the administrator secret counts as a client', async () => {
    const t = await start({ ...production, ...small, ADMIN_API_SECRET: adminSecret })
    const ask = () =>
      t.app.inject({ method: 'POST', url: '/v1/admin/things', headers: { 'x-admin-api-secret': adminSecret } })
    expect(
      (await Promise.all([ask(), ask(), ask(), ask()])).filter(({ statusCode }) => statusCode === 429),
    ).toHaveLength(1)
  })

  it('counts no requests to public routes, and none of the services', async () => {
    const t = await start({
      ...production,
      RATE_LIMIT_CLIENT_BURST: '1',
      SERVICE_CLIENT_ID: 'ours',
      SERVICE_CLIENT_SECRET: '0123456789abcdef'.repeat(2),
    })
    for (let time = 0; time < 5; time += 1) {
      const health = await t.app.inject({ url: '/health/live' })
      expect([health.statusCode, health.headers['ratelimit']]).toEqual([200, undefined])
      const own = await get(t, { clientId: 'ours', orgId: null }, `/v1/things/${thingId}?org_id=${orgA}`)
      expect([own.statusCode, own.headers['ratelimit']]).toEqual([200, undefined])
    }
  })

  it('RATE_LIMITS=off turns every limit off', async () => {
    const smallest = {
      RATE_LIMIT_CLIENT_PER_MINUTE: '1',
      RATE_LIMIT_ORGANISATION_PER_MINUTE: '0',
      RATE_LIMIT_TOKENS_PER_MINUTE: '1',
      RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE: '1',
    }
    const t = await start({ ...production, ...smallest, RATE_LIMITS: 'off', RATE_LIMIT_CLIENT_BURST: '1' })
    const answers = await Promise.all(Array.from({ length: 5 }, () => get(t)))
    expect(
      answers.map(({ statusCode, headers }) => [statusCode, headers['ratelimit'], headers['ratelimit-policy']]),
    ).toEqual(answers.map(() => [200, undefined, undefined]))
    const guesses = await Promise.all(
      Array.from({ length: 50 }, () =>
        t.app.inject({ method: 'POST', url: '/v1/auth/tokens', payload: { id: 'a', secret: 'wrong' } }),
      ),
    )
    expect(new Set(guesses.map(({ statusCode }) => statusCode))).toEqual(new Set([401]))
  })
})

describe('the token endpoint, in production', () => {
  const ask = (t: TestApplication, id: string, secret: string, remoteAddress = '192.0.2.1', headers = {}) =>
    t.app.inject({ method: 'POST', url: '/v1/auth/tokens', payload: { id, secret }, remoteAddress, headers })

  it('gives each client its number of tokens per minute', async () => {
    const t = await start({ ...production, RATE_LIMIT_TOKENS_PER_MINUTE: '2' })
    const statuses = [
      await ask(t, 'a', 'right'),
      await ask(t, 'a', 'right'),
      await ask(t, 'a', 'right'),
      await ask(t, 'b', 'right'),
    ].map(({ statusCode }) => statusCode)
    expect(statuses).toEqual([200, 200, 429, 200])
  })

  it('protects a client’s quota from callers without its secret', async () => {
    const t = await start({
      ...production,
      RATE_LIMIT_TOKENS_PER_MINUTE: '2',
      RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE: '5',
    })
    for (let time = 0; time < 10; time += 1) await ask(t, 'a', 'wrong')
    expect((await ask(t, 'a', 'right', '192.0.2.2')).statusCode).toBe(200)
  })

  it('delays an address with too many failures, longer each time', async () => {
    const t = await start({ ...production, RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE: '3' })
    for (let time = 0; time < 4; time += 1) expect((await ask(t, 'a', 'wrong')).statusCode).toBe(401)
    const waits: number[] = []
    for (let time = 0; time < 3; time += 1) {
      for (const id of ['a', 'b']) {
        const refused = await ask(t, id, 'wrong')
        expect([refused.statusCode, refused.json<{ code: string }>().code]).toEqual([429, 'quota-exceeded'])
        if (id === 'a') waits.push(Number(refused.headers['retry-after']))
      }
      expect((await ask(t, 'a', 'wrong', '192.0.2.2')).statusCode).toBe(401)
      nowMs += (waits.at(-1) ?? 0) * 1000
      expect((await ask(t, 'a', 'wrong')).statusCode).toBe(401)
    }
    expect(waits).toEqual([1, 2, 4])
  })

  it('always admits a caller with the right secret, whatever others at its address do', async () => {
    const t = await start({ ...production, RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE: '1' })
    for (let time = 0; time < 5; time += 1) await ask(t, 'a', 'wrong')
    expect([
      (await ask(t, 'a', 'wrong')).statusCode,
      (await ask(t, 'a', 'right')).statusCode,
      (await ask(t, 'b', 'right')).statusCode,
    ]).toEqual([429, 200, 200])
  })

  it('counts an IPv6 network as one address, and a mapped IPv4 address as that IPv4 address', async () => {
    const t = await start({ ...production, RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE: '1' })
    for (const address of ['2001:db8::1', '2001:db8:0:0:ffff::2']) await ask(t, 'a', 'wrong', address)
    for (const address of ['::ffff:192.0.2.9', '192.0.2.9']) await ask(t, 'a', 'wrong', address)
    const statuses = await Promise.all(
      ['2001:db8::3', '2001:db8:0:1::3', '192.0.2.9', '192.0.2.8'].map(
        async (address) => (await ask(t, 'a', 'wrong', address)).statusCode,
      ),
    )
    expect(statuses).toEqual([429, 401, 429, 401])
  })

  it('accepts X-Forwarded-For from configured proxies only', async () => {
    const forwarded = (address: string) => ({ 'x-forwarded-for': address })
    const plain = await start({ ...production, RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE: '1' })
    for (const last of [1, 2, 3]) await ask(plain, 'a', 'wrong', '192.0.2.1', forwarded(`198.51.100.${last}`))
    expect((await ask(plain, 'a', 'wrong', '192.0.2.1', forwarded('198.51.100.9'))).statusCode).toBe(429)
    const behind = await start({
      ...production,
      RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE: '1',
      TRUSTED_PROXIES: '192.0.2.0/24',
    })
    for (let time = 0; time < 3; time += 1) await ask(behind, 'a', 'wrong', '192.0.2.1', forwarded('198.51.100.1'))
    const statuses = await Promise.all(
      ['198.51.100.1', '198.51.100.2'].map(
        async (address) => (await ask(behind, 'a', 'wrong', '192.0.2.1', forwarded(address))).statusCode,
      ),
    )
    expect(statuses).toEqual([429, 401])
  })
})

it('in production a wrong administrator secret delays its address, longer each time; the right one passes', async () => {
  const t = await start({ ...production, ADMIN_API_SECRET: adminSecret, RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE: '3' })
  const ask = (secret: string, remoteAddress = '192.0.2.1') =>
    t.app.inject({ method: 'POST', url: '/v1/admin/things', headers: { 'x-admin-api-secret': secret }, remoteAddress })
  const wrong = 'x'.repeat(40)
  for (let time = 0; time < 4; time += 1)
    expect((await ask(wrong)).json()).toMatchObject({ status: 401, code: 'admin-secret-invalid' })
  const waits: number[] = []
  for (let time = 0; time < 3; time += 1) {
    const refused = await ask(wrong)
    expect([refused.statusCode, refused.json<{ code: string }>().code]).toEqual([429, 'quota-exceeded'])
    waits.push(Number(refused.headers['retry-after']))
    nowMs += (waits.at(-1) ?? 0) * 1000
    expect((await ask(wrong)).statusCode).toBe(401)
  }
  expect(waits).toEqual([1, 2, 4])
  expect([(await ask(wrong, '192.0.2.2')).statusCode, (await ask(adminSecret)).statusCode]).toEqual([401, 200])
  expect(t.log()).toMatch(/"code":"quota-exceeded","sourceAddress":"192\.0\.2\.1"/)
})

it('development reports limits and refuses no request', async () => {
  const t = await start({
    ...small,
    RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE: '1',
    RATE_LIMIT_TOKENS_PER_MINUTE: '1',
    RATE_LIMIT_CREATES_PER_MINUTE: '1',
  })
  const headers = await t.token()
  for (let time = 0; time < 8; time += 1) {
    const answer = await get(t)
    expect([answer.statusCode, items(answer.headers['ratelimit'])['client']?.['r']]).toEqual([
      200,
      Math.max(0, 2 - time * 2),
    ])
    expect((await t.app.inject({ method: 'POST', url: '/v1/creates', headers })).statusCode).toBe(200)
    expect(
      (await t.app.inject({ method: 'POST', url: '/v1/auth/tokens', payload: { id: 'a', secret: 'wrong' } }))
        .statusCode,
    ).toBe(401)
    expect(
      (await t.app.inject({ method: 'POST', url: '/v1/auth/tokens', payload: { id: 'a', secret: 'right' } }))
        .statusCode,
    ).toBe(200)
  }
})

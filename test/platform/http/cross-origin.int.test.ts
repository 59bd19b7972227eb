import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { servicesOf } from '../../../app/services.ts'
import { unusedParts } from '../../support/unused-parts.ts'
import { startApplication, thingId, type TestApplication } from './test-application.ts'

const page = 'https://app.example.org'
const things = '/v1/clinical-api/things'
const preflight = { method: 'OPTIONS', url: things } as const
const asking = (origin: string) => ({ origin, 'access-control-request-method': 'POST' })

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>
}

const ofCors = (headers: object) => Object.keys(headers).filter((name) => name.startsWith('access-control-'))

describe('with origins', () => {
  let t: TestApplication
  beforeAll(async () => {
    t = await startApplication({ env: { CORS_ORIGINS: `${page},http://127.0.0.1:3000` } })
  })
  afterAll(() => t.app.close())

  it('a page of one of them may send what callers send, except a secret of the administration', async () => {
    const { statusCode, headers, body } = await t.app.inject({ ...preflight, headers: asking(page) })
    expect([statusCode, body]).toEqual([204, ''])
    expect(headers).toMatchObject({
      'access-control-allow-origin': page,
      'access-control-allow-methods': 'POST',
      'access-control-max-age': '3600',
      vary: 'origin',
    })
    const allowed = String(headers['access-control-allow-headers']).split(', ')
    expect(allowed).toEqual(expect.arrayContaining(['authorization', 'content-type', 'idempotency-key', 'prefer']))
    expect(allowed).not.toContain('x-admin-api-secret')
    expect(headers).not.toHaveProperty('access-control-allow-credentials')
  })

  it('it reads answers and refusals, with their headers', async () => {
    const refused = await t.app.inject({ url: `${things}/${thingId}`, headers: { origin: page } })
    const found = await t.app.inject({
      url: `${things}/${thingId}`,
      headers: { ...(await t.token({ scopes: ['things:read'] })), origin: page },
    })
    expect([refused.statusCode, found.statusCode]).toEqual([401, 200])
    for (const { headers } of [refused, found]) {
      expect(headers).toMatchObject({ 'access-control-allow-origin': page, vary: 'origin' })
      const read = String(headers['access-control-expose-headers']).split(', ')
      expect(read).toEqual(expect.arrayContaining(['etag', 'retry-after', 'x-request-id']))
    }
  })

  it.each(['https://app.example.org.evil.example', 'http://app.example.org', 'null'])(
    'a page of %s may not',
    async (origin) => {
      const asked = await t.app.inject({ ...preflight, headers: asking(origin) })
      expect([asked.statusCode, ofCors(asked.headers)]).toEqual([405, []])
      const refused = await t.app.inject({ url: things, headers: { origin } })
      expect([ofCors(refused.headers), refused.headers['vary']]).toEqual([[], 'origin'])
    },
  )

  it('it may send and read every header that is documented', async () => {
    const whole = await startApplication({ env: { CORS_ORIGINS: page }, services: servicesOf(unusedParts) })
    const { headers } = await whole.app.inject({ ...preflight, headers: asking(page) })
    const refused = await whole.app.inject({ url: things, headers: { origin: page } })
    const document = (await whole.app.inject({ url: '/openapi.json' })).json<OpenApi>()
    await whole.app.close()
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
    const taken = operations.flatMap(({ parameters = [] }) => parameters.filter((one) => one.in === 'header'))
    const answered = operations.flatMap(({ responses }) =>
      Object.values(responses).flatMap((response) => Object.keys(response.headers ?? {})),
    )
    const list = (text: unknown) => new Set(String(text).split(', '))
    const [sent, read] = [
      list(headers['access-control-allow-headers']),
      list(refused.headers['access-control-expose-headers']),
    ]
    const names = new Set(taken.map(({ name }) => name.toLowerCase()))
    expect(names.size).toBeGreaterThan(5)
    expect([...names].filter((name) => !sent.has(name))).toEqual([])
    const others = [...new Set(answered.map((name) => name.toLowerCase()))].filter((name) => !read.has(name))
    // It is for caches.
    expect(others.filter((name) => name !== 'vary')).toEqual([])
  })

  it('keeps what an answer varies by', async () => {
    const { headers } = await t.app.inject({ url: '/problems/conflict', headers: { origin: page } })
    expect(headers['vary']).toBe('accept, origin')
  })
})

it('without origins no answer changes', async () => {
  const t = await startApplication()
  const asked = await t.app.inject({ ...preflight, headers: asking(page) })
  const refused = await t.app.inject({ url: things, headers: { origin: page } })
  expect(asked.statusCode).toBe(405)
  for (const { headers } of [asked, refused]) expect([ofCors(headers), headers['vary']]).toEqual([[], undefined])
  await t.app.close()
})

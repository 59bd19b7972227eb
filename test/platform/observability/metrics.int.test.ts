import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startApplication, thingId, type TestApplication } from '../http/test-application.ts'
import { labelsIn, linesOf, seriesIn } from './figures.ts'

const type = 'text/plain; version=0.0.4; charset=utf-8'
let clockMs: number
let isStopping: boolean
let t: TestApplication
beforeEach(async () => {
  ;[clockMs, isStopping] = [0, false]
  t = await startApplication({ clockMs: () => clockMs, isStopping: () => isStopping })
})
afterEach(() => t.app.close())

async function scrape(): Promise<string> {
  clockMs += 1_000
  return (await t.app.inject({ url: '/metrics' })).body
}

function totalIn(text: string): number {
  const counts = linesOf(text, 'http_requests_total').map((line) => Number(line.split(' ').at(-1)))
  return counts.reduce((sum, count) => sum + count, 0)
}

it('4.5 row 7: GET /metrics is public, on the host and for each service', async () => {
  for (const url of ['/metrics', '/v1/clinical-api/metrics', '/v1/clinical-api/v1/metrics']) {
    const { statusCode, headers, body } = await t.app.inject({ url })
    expect([url, statusCode, headers['content-type'], headers['cache-control']]).toEqual([url, 200, type, 'no-store'])
    expect(headers['ratelimit']).toBeUndefined()
    expect(seriesIn(body)).toContain('process_resident_memory_bytes')
  }
  const head = await t.app.inject({ url: '/metrics', method: 'HEAD' })
  expect([head.statusCode, head.headers['content-type'], head.body]).toEqual([200, type, ''])
  const posted = await t.app.inject({ url: '/metrics', method: 'POST' })
  expect([posted.statusCode, posted.headers['allow']]).toEqual([405, 'GET, HEAD'])
  const document = (await t.app.inject({ url: '/openapi.json' })).json<{ paths: Record<string, object> }>()
  expect(Object.keys(document.paths).filter((path) => path.endsWith('/metrics'))).toEqual([
    '/metrics',
    '/v1/clinical-api/metrics',
  ])
  expect(document.paths['/metrics']).toMatchObject({
    get: { security: [], responses: { 200: { content: { 'text/plain': { schema: { type: 'string' } } } } } },
  })
})

it('is a problem document when the figures cannot be read', async () => {
  t.metrics.register({
    name: 'broken',
    help: 'Fails.',
    labels: [],
    read: () => {
      throw new Error('connect to 10.0.0.1 failed')
    },
  })
  const { statusCode, headers, body } = await t.app.inject({ url: '/metrics' })
  expect([statusCode, headers['content-type']]).toEqual([500, 'application/problem+json; charset=utf-8'])
  expect(body).not.toContain('10.0.0.1')
})

it('is served while the server stops, and shows neither itself nor health among the requests', async () => {
  isStopping = true
  for (const url of ['/health', '/health/live', '/v1/clinical-api/health/ready', '/metrics'])
    await t.app.inject({ url })
  await t.app.inject({ url: '/v1/clinical-api/whoami' })
  expect(linesOf(await scrape(), 'http_requests_total')).toEqual([
    'http_requests_total{method="GET",route="/v1/clinical-api/whoami",status="503"} 1',
  ])
})

it('counts a route once, at whichever mount it was called', async () => {
  const headers = await t.token({ scopes: ['things:read'] })
  for (const base of ['/v1/clinical-api', '/v1/clinical-api/v1', '/v1'])
    for (const method of ['GET', 'HEAD'] as const)
      await t.app.inject({ url: `${base}/things/${thingId}`, method, headers })
  expect(linesOf(await scrape(), 'http_requests_total')).toEqual([
    'http_requests_total{method="GET",route="/v1/clinical-api/things/:id",status="200"} 3',
    'http_requests_total{method="HEAD",route="/v1/clinical-api/things/:id",status="200"} 3',
  ])
})

it('contains no value of a request, and has no more series after other requests to the same routes', async () => {
  await t.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = t.app.server.address() as AddressInfo
  const token = await t.token({ scopes: ['things:read', 'things:write'] })

  /** The path goes out as it is, without the repairs of `fetch`. */
  function send(method: string, path: string, headers: Readonly<Record<string, string>> = {}, body = '') {
    return new Promise<number | undefined>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, method, path, headers: { ...headers, connection: 'close' } })
      sent.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode)))
      sent.on('error', reject).end(body)
    })
  }

  /** Sends the marks in every place of a request. Returns the statuses. */
  async function sendAll(id: string, mark: string): Promise<readonly (number | undefined)[]> {
    const json = { ...token, 'content-type': 'application/json' }
    const marked = { 'x-request-id': mark, 'user-agent': mark, traceparent: mark, authorization: `Bearer ${mark}` }
    // An address that cannot be decoded is refused before the hooks: neither counted nor logged.
    expect(await send('GET', `/%zz${mark}`)).toBe(404)
    const statuses = [
      await send('GET', `/v1/clinical-api/things/${id}`, token),
      await send('GET', `/v1/clinical-api/things/${mark}`, token),
      await send('GET', `/v1/clinical-api/things/${id}?email=${mark}@clinic.test&${mark}=1`, token),
      await send('GET', `/v1/clinical-api/things/${id}?org_id=${mark}`, token),
      await send('PUT', `/v1/things/${id}`, json, JSON.stringify({ name: mark })),
      await send('POST', '/v1/things', json, JSON.stringify({ name: mark })),
      await send('POST', '/v1/things', json, JSON.stringify({ [mark]: mark })),
      await send('POST', '/v1/things', json, `{"${mark}`),
      await send('GET', `/v1/clinical-api/things/${id}`, marked),
      await send('GET', `/${mark}/${id}`),
      await send('GET', `/v1/${mark}@clinic.test`),
      await send('GET', `/${mark}"}%0A${mark}{x="1"}`),
      await send('GET', `/v1/clinical-api/things/${mark}%00`, token),
      await send('GET', `/problems/${mark}`),
      await send('GET', `/docs/static/${mark}`),
      await send('GET', `/docs/static/..%2f${mark}`),
    ]
    for (const method of ['PROPFIND', 'QUERY', 'M-SEARCH', 'TRACE', 'OPTIONS', 'DELETE'])
      statuses.push(await send(method, `/${mark}`), await send(method, `/v1/clinical-api/things/${id}`))
    return statuses
  }

  const marks = Array.from({ length: 3 }, () => ({ id: randomUUID(), mark: `canary${randomUUID().slice(0, 8)}` }))
  const [first, ...others] = marks
  if (first === undefined) throw new Error('no marks')
  const statuses = await sendAll(first.id, first.mark)
  expect(statuses).toEqual(expect.arrayContaining([200, 201, 400, 401, 404, 405]))
  // A request counts once its answer is sent, and the client may have it earlier.
  await expect.poll(async () => totalIn(await scrape()), { timeout: 30_000 }).toBe(statuses.length)
  const known = seriesIn(await scrape())
  for (const { id, mark } of others) expect(await sendAll(id, mark)).toEqual(statuses)
  await expect.poll(async () => totalIn(await scrape()), { timeout: 30_000 }).toBe(statuses.length * marks.length)
  const text = await scrape()

  const ofRequests = (series: readonly string[]) => series.filter((one) => one.startsWith('http_'))
  expect(ofRequests(seriesIn(text))).toEqual(ofRequests(known))
  for (const { id, mark } of marks) for (const value of [id, mark]) expect(text).not.toContain(value)
  expect(text).not.toMatch(/clinic\.test|canary|[0-9a-f]{8}-[0-9a-f]{4}-/)
  // `le` is of histograms. `type`, `space` and `kind` are of the Node.js process.
  const allowed = new Set(['method', 'route', 'status', 'check', 'state', 'le', 'type', 'space', 'kind'])
  expect([...labelsIn(text)].filter((name) => !allowed.has(name))).toEqual([])
  expect(linesOf(text, 'nodejs_version_info')).toEqual([])
  // `promtool check metrics` demands it.
  const misnamed = text.split('\n').filter((line) => /^# TYPE \S+_total /.test(line) && !line.endsWith(' counter'))
  expect(misnamed).toEqual([])
})

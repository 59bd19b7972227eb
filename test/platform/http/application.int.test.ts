import { createServer, METHODS } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { createClientErrorHandler } from '../../../platform/http/client-errors.ts'
import { problems } from '../../../platform/http/problems.ts'
import type { Service } from '../../../platform/http/service.ts'
import { orgA, startApplication, thingId, thingService, type TestApplication } from './test-application.ts'

let t: TestApplication
let auth: { authorization: string }
let address: string

beforeAll(async () => {
  t = await startApplication()
  auth = await t.token()
  address = await t.app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(() => t.app.close())

function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  return fetch(`${address}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...auth, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** Sends raw bytes and returns the complete response. */
function raw(text: string, to: string = address): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port, hostname } = new URL(to)
    const socket = connect(Number(port), hostname, () => socket.write(text))
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk.toString()
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}

test('the log has polls of health and metrics at level debug, and other requests at level info', async () => {
  const before = t.log().length
  for (const path of ['/health/ready', '/health', '/metrics', `/v1/things/${thingId}`])
    await (await fetch(`${address}${path}`, { headers: auth })).text()
  const lines = () =>
    t
      .log()
      .slice(before)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === 'request')
      .map(({ level, route }) => [level, route])
  await expect.poll(lines).toEqual([
    ['debug', '/health/ready'],
    ['debug', '/health'],
    ['debug', '/metrics'],
    ['info', expect.stringContaining('/things/:id')],
  ])
})

describe('the three mounts', () => {
  it.each(['/v1/clinical-api/things', '/v1/clinical-api/v1/things', '/v1/things'])(
    '%s answers with the documented path in Location',
    async (path) => {
      const response = await post(path, { name: 'x' })
      expect(response.status).toBe(201)
      expect(response.headers.get('location')).toBe(`/v1/clinical-api/things/${thingId}`)
    },
  )

  it('has one scope of a key for all mounts, with the path values in lower case', async () => {
    const routes = await Promise.all(
      ['/v1/clinical-api', '/v1/clinical-api/v1', '/v1'].map(async (mount) => {
        const response = await fetch(`${address}${mount}/things/${thingId.toUpperCase()}`, {
          method: 'PUT',
          headers: { ...auth, 'content-type': 'application/json', 'idempotency-key': 'k-1' },
          body: '{"name":"x"}',
        })
        const scope: unknown = JSON.parse(((await response.json()) as { name: string }).name)
        return scope
      }),
    )
    const scope = [expect.any(String), 'client-a', 'PUT', `/clinical-api/things/${thingId}`]
    expect(routes).toEqual([scope, scope, scope])
  })

  it('counts an Idempotency-Key once across mounts, and separately per client', async () => {
    const key = { 'idempotency-key': 'k-1' }
    const ids = await Promise.all(
      ['/v1/clinical-api/things', '/v1/things'].map(
        async (path) => ((await (await post(path, { name: 'x' }, key)).json()) as { id: string }).id,
      ),
    )
    expect(ids[0]).toBe(ids[1])
    const other = await t.token({ clientId: 'client-b' })
    expect(
      ((await (await post('/v1/things', { name: 'x' }, { ...key, ...other })).json()) as { id: string }).id,
    ).not.toBe(ids[0])
  })

  it('refuses a route without an access rule', async () => {
    const open = {
      ...thingService,
      routes: (app: Parameters<typeof thingService.routes>[0]) => {
        app.get('/open', async () => 'x')
      },
    }
    await expect(startApplication({ services: [open] })).rejects.toThrow('config.access')
  })
})

describe('refusals', () => {
  it('lists every wrong member of a body and contains no value', async () => {
    const response = await post('/v1/clinical-api/things', { nome: 'Jane', count: '7' })
    expect(response.status).toBe(400)
    expect(response.headers.get('content-type')).toContain('application/problem+json')
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({
      type: 'https://clinical-assessment-platform.org/problems/validation-failed',
      status: 400,
      code: 'validation-failed',
      retriable: false,
      request_id: response.headers.get('x-request-id'),
      errors: expect.arrayContaining([
        { pointer: '/name', detail: 'is required', code: 'required' },
        { pointer: '/nome', detail: 'is not a member of this request', code: 'unknown-member' },
        { pointer: '/count', detail: 'must be integer', code: 'type' },
      ]),
    })
    expect(text).not.toContain('Jane')
  })

  it('writes the codes of rules in kebab case', async () => {
    const { errors } = (await (await post('/v1/things', { name: 'x'.repeat(21) })).json()) as { errors: unknown }
    expect(errors).toEqual([{ pointer: '/name', detail: 'must NOT have more than 20 characters', code: 'max-length' }])
  })

  it.each([
    ['truncated JSON', '{"name":'],
    ['a lone surrogate', '{"name":"\\ud800"}'],
    ['U+0000', '{"name":"\\u0000"}'],
    ['a number out of range', '{"name":"x","count":1e999}'],
    ['__proto__', '{"name":"x","free":{"__proto__":{}}}'],
    ['deep nesting', `{"name":"x","free":${'['.repeat(100)}${']'.repeat(100)}}`],
  ])('answers 400 malformed-body for %s', async (_, body) => {
    const response = await post('/v1/clinical-api/things', body)
    expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ code: 'malformed-body' })])
  })

  it('says of a body that cannot be parsed whether its encoding or its JSON is wrong', async () => {
    const detailOf = async (body: Uint8Array<ArrayBuffer> | string) => {
      const headers = { ...auth, 'content-type': 'application/json' }
      return (await fetch(`${address}/v1/things`, { method: 'POST', headers, body })).json()
    }
    expect(await detailOf('{')).toMatchObject({ detail: 'The body is not well-formed JSON.' })
    expect(await detailOf(new Uint8Array([0x22, 0xff, 0x22]))).toMatchObject({
      detail: 'The body is not well-formed UTF-8.',
    })
  })

  it('answers 400 malformed-body for bytes that are not UTF-8', async () => {
    const response = await fetch(`${address}/v1/things`, {
      method: 'POST',
      headers: { ...auth, 'content-type': 'application/json' },
      body: new Uint8Array([0x22, 0xff, 0x22]),
    })
    expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ code: 'malformed-body' })])
  })

  it('treats a connection that a server breaks off as an unavailable server', async () => {
    const cutOff: Service = {
      prefix: 'clinical-api',
      documentedAt: 'prefixed',
      routes(app) {
        app.get(
          '/cut-off',
          { schema: { operationId: 'cutOff', summary: 'Fails', response: {} }, config: { access: 'public' } },
          async () => {
            throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
          },
        )
      },
    }
    const { app } = await startApplication({ services: [cutOff] })
    expect((await app.inject('/v1/cut-off')).json()).toMatchObject({ status: 503, code: 'database-unavailable' })
    await app.close()
  })

  it('treats a missing body as a body without its members', async () => {
    const response = await fetch(`${address}/v1/things`, { method: 'POST', headers: auth })
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ code: 'validation-failed' }),
    ])
  })

  it('answers 405 with Allow, 413, 415', async () => {
    const wrongMethod = await fetch(`${address}/v1/things/${thingId}`, { method: 'DELETE', headers: auth })
    expect([wrongMethod.status, wrongMethod.headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT'])
    expect((await post('/v1/things', { name: 'x'.repeat(1024 * 1024) })).status).toBe(413)
    expect((await post('/v1/things', 'name=x', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post('/v1/things', 'name=x', { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(
      415,
    )
    expect((await post('/v1/things', { name: 'x' }, { 'content-encoding': 'gzip' })).status).toBe(415)
  })

  it('answers a malformed id like an unknown address', async () => {
    const bodies = await Promise.all(
      [
        `/v1/things/not-a-uuid`,
        '/v1/nothing',
        `/v1/things/${'x'.repeat(300)}`,
        `/v1/things/${'x'.repeat(600)}`,
        '/v1/things/%zz',
      ].map(async (path) => {
        const response = await fetch(`${address}${path}`, { headers: { ...auth, 'x-request-id': 'same' } })
        expect(response.status).toBe(404)
        return (await response.text()).replace(/urn:uuid:[0-9a-f-]{36}/, 'urn')
      }),
    )
    expect(new Set(bodies).size).toBe(1)
  })

  it('answers 400 for an invalid query and coerces a valid one', async () => {
    const bad = await fetch(`${address}/v1/things/${thingId}?limit=0`, { headers: auth })
    expect([bad.status, await bad.json()]).toEqual([
      400,
      expect.objectContaining({ errors: [expect.objectContaining({ pointer: '/limit' })] }),
    ])
    const good = await fetch(`${address}/v1/things/${thingId}?limit=5`, { headers: auth })
    expect(await good.json()).toEqual({ id: thingId, name: `${orgA} number` })
  })

  it('hides an unknown error in the answer and the log', async () => {
    const response = await fetch(`${address}/v1/broken`)
    const text = await response.text()
    expect([response.status, JSON.parse(text)]).toEqual([
      500,
      expect.objectContaining({ code: 'internal-error', retriable: true }),
    ])
    expect(text + t.log()).not.toContain('Jane Doe')
    expect(t.log()).toContain('request failed')
  })

  it('answers malformed and oversized heads with a problem', async () => {
    const answers = [
      await raw('GET / HTTP/1.1\r\nbroken\r\n\r\n'),
      await raw(`GET / HTTP/1.1\r\nhost: x\r\nx-big: ${'x'.repeat(40_000)}\r\n\r\n`),
    ]
    expect(answers[0]).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[^]*application\/problem\+json[^]*malformed-request/)
    expect(answers[1]).toMatch(
      /^HTTP\/1\.1 431 Request Header Fields Too Large\r\n[^]*application\/problem\+json[^]*headers-too-large/,
    )
    for (const answer of answers) {
      const requestId = /\r\nx-request-id: ([0-9a-f-]{36})\r\n/.exec(answer)?.[1] ?? 'none'
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ request_id: requestId })
      expect(answer).toMatch(/\r\napi-version: \d+\.\d+\.\d+\r\n/)
      expect(answer).toMatch(/\r\ntraceparent: 00-[0-9a-f-]{52}\r\n/)
      for (const field of ['cache-control: no-store', 'x-content-type-options: nosniff', 'connection: close'])
        expect(answer).toContain(`\r\n${field}\r\n`)
    }
  })

  it('answers an unknown Expect with a problem, and continues after 100-continue', async () => {
    const unknown = await raw('POST /v1/things HTTP/1.1\r\nhost: x\r\nexpect: something\r\nconnection: close\r\n\r\n')
    expect(unknown).toMatch(
      /^HTTP\/1\.1 417 Expectation Failed\r\n[^]*application\/problem\+json[^]*"code":"expectation-failed"/,
    )
    const known = await raw(
      `POST /v1/things HTTP/1.1\r\nhost: x\r\nauthorization: ${auth.authorization}\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 12\r\nconnection: close\r\n\r\n{"name":"x"}`,
    )
    expect(known).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 Created\r\n/)
  })

  it.each(['gzip', 'gzip, chunked', 'chunked, gzip', 'identity', 'deflate,chunked'])(
    'answers 501 for the transfer coding %s, and reads no body of it',
    async (coding) => {
      const answer = await raw(
        `POST /v1/things HTTP/1.1\r\nhost: x\r\nauthorization: ${auth.authorization}\r\ncontent-type: application/json\r\ntransfer-encoding: ${coding}\r\nconnection: close\r\n\r\nc\r\n{"name":"x"}\r\n0\r\n\r\n`,
      )
      expect(answer).toMatch(
        /^HTTP\/1\.1 501 Not Implemented\r\n[^]*application\/problem\+json[^]*"code":"transfer-coding-unsupported"[^]*"retriable":false/,
      )
    },
  )

  it('takes the transfer coding chunked in any case', async () => {
    expect(
      await raw(
        `POST /v1/things HTTP/1.1\r\nhost: x\r\nauthorization: ${auth.authorization}\r\ncontent-type: application/json\r\ntransfer-encoding: Chunked\r\nconnection: close\r\n\r\nc\r\n{"name":"x"}\r\n0\r\n\r\n`,
      ),
    ).toMatch(/^HTTP\/1\.1 201 Created\r\n/)
  })

  it('answers HTTP/1.1 without Host with a problem', async () => {
    const answer = await raw('GET /health/live HTTP/1.1\r\nconnection: close\r\n\r\n')
    expect(answer).toMatch(
      /^HTTP\/1\.1 400 Bad Request\r\n[^]*x-request-id[^]*application\/problem\+json[^]*"detail":"The header Host is missing\."[^]*"code":"malformed-request"/,
    )
    expect(await raw('GET /health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  })

  it.each(['Host: other', 'Authorization: Bearer other', 'Content-Type: text/plain'])(
    'refuses a second header %s',
    async (second) => {
      const head = `POST /v1/things HTTP/1.1\r\nhost: x\r\nauthorization: ${auth.authorization}\r\ncontent-type: application/json\r\ncontent-length: 12\r\nconnection: close\r\n`
      expect(await raw(`${head}\r\n{"name":"x"}`)).toMatch(/^HTTP\/1\.1 201 Created\r\n/)
      expect(await raw(`${head}${second}\r\n\r\n{"name":"x"}`)).toMatch(
        /^HTTP\/1\.1 400 Bad Request\r\n[^]*contains the header [a-z-]+ twice[^]*"code":"malformed-request"/,
      )
    },
  )

  it.each(METHODS.filter((method) => method !== 'CONNECT'))(
    'answers %s with 404 at an unknown address and with 405 at another address, whatever its body',
    async (method) => {
      const before = t.log().length
      const bodies = [
        '',
        'content-length: 1\r\n\r\n{',
        'content-type: application/json\r\ncontent-length: 1\r\n\r\n{',
        'content-type: ;\r\ncontent-length: 1\r\n\r\n{',
      ]
      const answers = await Promise.all(
        bodies.map((body) =>
          raw(
            `${method} /v1/no/such/address HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${body === '' ? '\r\n' : body}`,
          ),
        ),
      )
      expect(answers.map((answer) => answer.slice(9, 12))).toEqual(bodies.map(() => '404'))
      expect((await raw(`${method} /v1/things HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)).slice(9, 12)).toBe(
        method === 'POST' ? '401' : '405',
      )
      expect(t.log().slice(before)).not.toMatch(/"level":"error"/)
    },
  )

  it('answers 408 for an incomplete head', async () => {
    const server = createServer({ headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 20 })
    server.on('clientError', createClientErrorHandler('1.0.0'))
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    const { port } = server.address() as AddressInfo
    expect(await raw('GET / HTTP/1.1\r\nhost:', `http://127.0.0.1:${port}`)).toMatch(
      /^HTTP\/1\.1 408 Request Timeout\r\n[^]*"code":"request-timeout"[^]*"retriable":true/,
    )
    server.close()
  })

  it('documents the refusals of the HTTP server at every operation', async () => {
    const { paths } = (await t.app.inject({ url: '/openapi.json' })).json<{
      paths: Record<string, Record<string, { responses: Record<string, { description: string; content: object }> }>>
    }>()
    const lacking = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { responses }]) =>
        [
          '400 malformed-request',
          '408 request-timeout',
          '417 expectation-failed',
          '431 headers-too-large',
          '501 transfer-coding-unsupported',
        ]
          .filter((refusal) => {
            const [status = '', code = ''] = refusal.split(' ')
            const documented = responses[status]
            return (
              documented?.description.split(', ').includes(code) !== true ||
              !('application/problem+json' in documented.content)
            )
          })
          .map((refusal) => `${method} ${path}: ${refusal}`),
      ),
    )
    expect([Object.keys(paths).length > 5, lacking]).toEqual([true, []])
    expect(Object.keys(paths['/v1/clinical-api/form']?.['post']?.responses['400']?.content ?? {})).toEqual([
      'application/problem+json',
    ])
  })

  it.each([
    '%2e%2e',
    '%2e%2e/',
    '%2e%2e/%2e%2e/package.json',
    '..%2fpackage.json',
    '%5c..%5c..',
    '%2e%2e%5c',
    '/etc/passwd',
    '.hidden',
    'a%00b',
    '%252e%252e',
    'nothing',
    '%ff',
  ])('answers 404 for the file /docs/static/%s, and logs no error', async (file) => {
    const before = t.log().length
    for (const mount of ['/docs/static/', '/docs/']) {
      const answer = await raw(`GET ${mount}${file} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
      expect(answer).toMatch(/^HTTP\/1\.1 404 Not Found\r\n[^]*application\/problem\+json[^]*"code":"not-found"/)
    }
    expect(t.log().slice(before)).not.toMatch(/"level":"error"|"frames"/)
  })

  it.each([
    ['If-Match: "x"', 412, 'precondition-failed'],
    ['If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT', 412, 'precondition-failed'],
    ['Range: bytes=99999999-', 404, 'not-found'],
  ])('answers a file of the documentation page with %s by %i, and logs no error', async (header, status, code) => {
    const before = t.log().length
    const answer = await raw(`GET /docs/static/index.css HTTP/1.1\r\nhost: x\r\n${header}\r\nconnection: close\r\n\r\n`)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*"code":"${code}"`))
    expect(t.log().slice(before)).not.toMatch(/"level":"error"|"frames"/)
  })

  it('points at 20 places at most, whatever the body contains', async () => {
    const members = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`m${n}`, 0]))
    for (const body of [
      members,
      { ...members, ...Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`n${n}`, 0])) },
    ]) {
      const { code, errors } = (await (await post('/v1/things', body)).json()) as { code: string; errors: unknown[] }
      expect([code, errors.length > 0 && errors.length <= 20]).toEqual(['validation-failed', true])
    }
  })

  it('adds the common headers to the answer for an undecodable address', async () => {
    const every = ['x-request-id', 'api-version', 'traceparent', 'cache-control', 'x-content-type-options']
    for (const path of ['/%zz', '/v1/nothing', `/v1/things/${'x'.repeat(300)}`]) {
      const response = await fetch(`${address}${path}`)
      expect([path, every.filter((name) => !response.headers.has(name))]).toEqual([path, []])
    }
  })

  it('answers a token endpoint by RFC 6749', async () => {
    const response = await fetch(`${address}/v1/form`, {
      method: 'POST',
      body: new URLSearchParams([
        ['grant', 'a'],
        ['grant', 'b'],
      ]),
    })
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json; charset=utf-8'])
    expect(await response.json()).toMatchObject({
      error: 'invalid_request',
      status: 400,
      title: expect.any(String),
      type: expect.any(String),
    })
    const good = await fetch(`${address}/v1/form`, { method: 'POST', body: new URLSearchParams({ grant: 'a' }) })
    expect(await good.json()).toEqual({ id: 'form', name: 'a' })
    const many = await fetch(`${address}/v1/form`, {
      method: 'POST',
      body: new URLSearchParams(`grant=a&${'p=&'.repeat(100)}`),
    })
    expect([many.status, await many.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_request' })])
  })

  it('names the right media type at a token endpoint, by RFC 6749', async () => {
    const asked = [
      { headers: { 'content-type': 'application/json' }, body: '{}' },
      { headers: { 'content-type': 'text/plain' }, body: 'grant=a' },
      { headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': 'gzip' }, body: 'grant=a' },
    ]
    for (const request of asked) {
      const response = await fetch(`${address}/v1/form`, { method: 'POST', ...request })
      expect([response.status, response.headers.get('content-type')]).toEqual([415, 'application/json; charset=utf-8'])
      expect(await response.json()).toMatchObject({
        error: 'invalid_request',
        error_description: expect.stringContaining('application/x-www-form-urlencoded'),
        status: 415,
        type: expect.stringMatching(/unsupported-media-type$/),
      })
    }
  })

  it('documents every problem on its page, for programs and for browsers', async () => {
    for (const [code, { status, title }] of Object.entries(problems)) {
      const page = await t.app.inject({ url: `/problems/${code}` })
      expect([page.statusCode, page.json()]).toEqual([200, expect.objectContaining({ code, status, title })])
    }
    const html = await t.app.inject({ url: '/problems/conflict', headers: { accept: 'text/html' } })
    expect([html.headers['content-type'], html.body]).toEqual([
      'text/html; charset=utf-8',
      expect.stringContaining('<h1>'),
    ])
    expect((await t.app.inject({ url: '/problems/unheard-of' })).statusCode).toBe(404)
  })
})

describe('headers', () => {
  it('echoes a harmless X-Request-Id and replaces any other', async () => {
    const echoed = await fetch(`${address}/health/live`, { headers: { 'x-request-id': 'abc.DEF_1-2' } })
    expect(echoed.headers.get('x-request-id')).toBe('abc.DEF_1-2')
    const replaced = await fetch(`${address}/health/live`, { headers: { 'x-request-id': 'a b' } })
    expect(replaced.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('continues a valid trace and starts one otherwise', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const continued = await fetch(`${address}/health/live`, {
      headers: { traceparent: `00-${traceId}-b7ad6b7169203331-00` },
    })
    expect(continued.headers.get('traceparent')).toMatch(
      new RegExp(`^00-${traceId}-(?!b7ad6b7169203331)[0-9a-f]{16}-00$`),
    )
    const fresh = await fetch(`${address}/health/live`, {
      headers: { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-00` },
    })
    expect(fresh.headers.get('traceparent')).toMatch(/^00-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  })

  it('passes request, trace and caller to the context of a command, with a new command id', async () => {
    const response = await post('/v1/things', { name: 'x' }, { 'x-request-id': 'r-1' })
    const { note } = (await response.json()) as { note: string }
    expect(JSON.parse(note)).toEqual({
      commandId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      correlationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      orgId: orgA,
      clientId: 'client-a',
      requestId: 'r-1',
      traceparent: response.headers.get('traceparent'),
    })
  })

  it('waits for the read models of a write, unless the caller prefers not to', async () => {
    t.waits.length = 0
    const waited = await post('/v1/things', { name: 'x' })
    expect([
      waited.headers.get('x-commit-position'),
      waited.headers.get('etag'),
      waited.headers.get('cache-control'),
    ]).toEqual(['7/7', '"0"', 'no-store'])
    expect(t.waits).toEqual([{ position: { commit: 7n, prepare: 7n }, projectors: ['things'], timeoutMs: 500 }])
    const eager = await post('/v1/things', { name: 'x' }, { prefer: 'respond-async' })
    expect([eager.status, eager.headers.get('preference-applied'), t.waits.length]).toEqual([201, 'respond-async', 1])
  })

  it('waits on a GET for X-Min-Commit-Position, reports its lag, and never fails for it', async () => {
    const slow = await startApplication({ readYourWrites: async () => ({ caughtUp: false, lagMs: 1234.4 }) })
    try {
      const url = `/v1/things/${thingId}`
      const headers = { ...(await slow.token()), 'x-min-commit-position': '9/9' }
      const behind = await slow.app.inject({ url, headers })
      expect([behind.statusCode, behind.headers['x-projection-lag-ms']]).toEqual([200, '1234'])
      const wrong = await slow.app.inject({ url, headers: { ...headers, 'x-min-commit-position': 'nine' } })
      expect([wrong.statusCode, wrong.json()]).toEqual([400, expect.objectContaining({ code: 'malformed-request' })])
    } finally {
      await slow.app.close()
    }
  })

  it('answers 304 if the caller has the version', async () => {
    const first = await fetch(`${address}/v1/things/${thingId}`, { headers: auth })
    const etag = first.headers.get('etag') ?? ''
    expect(etag).toBe('"3.44"')
    const second = await fetch(`${address}/v1/things/${thingId}`, { headers: { ...auth, 'if-none-match': etag } })
    expect([second.status, await second.text()]).toEqual([304, ''])
  })
})

describe('documentation', () => {
  it('is OpenAPI 3.1, with each route once at its own path, named schemas and every status', async () => {
    const document = (await t.app.inject({ url: '/openapi.json' })).json<{
      openapi: string
      paths: Record<string, Record<string, { responses: object }>>
      components: { schemas: object }
    }>()
    expect(document.openapi).toBe('3.1.0')
    expect(Object.keys(document.paths).filter((path) => path.includes('things'))).toEqual([
      '/v1/clinical-api/things',
      '/v1/clinical-api/things/{id}',
      '/v1/clinical-api/admin/things',
    ])
    expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(['ThingBody', 'Thing', 'Problem']))
    const create = document.paths['/v1/clinical-api/things']?.['post']
    expect(Object.keys(create?.responses ?? {})).toEqual([
      '201',
      '400',
      '401',
      '403',
      '404',
      '408',
      '409',
      '413',
      '415',
      '417',
      '429',
      '431',
      '500',
      '501',
      '503',
    ])
    expect(create).toMatchObject({
      requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/ThingBody' } } } },
      responses: {
        503: { description: expect.stringContaining('written-by-newer-version') },
        409: { content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } },
      },
    })
  })

  it('contains the extra members of some problems', async () => {
    const document = (await t.app.inject({ url: '/openapi.json' })).json<{
      components: { schemas: { Problem: { required: string[]; properties: object } } }
    }>()
    const { required, properties } = document.components.schemas.Problem
    expect(Object.keys(properties).filter((member) => !required.includes(member))).toEqual([
      'errors',
      'required_scopes',
      'required_permission',
      'parked_step_id',
      'missing_image_ids',
      'missingVariables',
      'oldest_cursor',
    ])
  })

  it('lists the headers of each answer, and marks optional bodies', async () => {
    const documented: Service = {
      prefix: 'consent',
      documentedAt: 'bare',
      routes: (app) => {
        const response = { 200: Type.Object({}, { $id: 'Documented' }) }
        const config = { access: 'token', hasEtag: true, servedBy: ['documented'], takesWait: true } as const
        app.get(
          '/documented',
          { schema: { querystring: Type.Object({ cursor: Type.Optional(Type.String()) }), response }, config },
          () => ({}),
        )
        app.post(
          '/documented',
          {
            schema: { body: Type.Object({}, { $id: 'TellBody' }), response },
            config: { access: 'token', mayLackBody: true },
          },
          () => ({}),
        )
        app.post(
          '/asked',
          {
            schema: { body: Type.Object({}, { $id: 'AskBody' }), response },
            config: { access: 'token', changesNothing: true },
          },
          () => ({}),
        )
      },
    }
    const { app } = await startApplication({ services: [documented, thingService] })
    const { paths } = (await app.inject({ url: '/openapi.json' })).json<{
      paths: Record<
        string,
        Record<string, { requestBody?: { required: boolean }; responses: Record<string, { headers?: object }> }>
      >
    }>()
    const headersOf = (path: string, method: string, status: string) =>
      Object.keys(paths[path]?.[method]?.responses[status]?.headers ?? {})
    expect(headersOf('/v1/documented', 'get', '200')).toEqual([
      'ETag',
      'Link',
      'X-Projection-Lag-Ms',
      'Preference-Applied',
      'Retry-After',
    ])
    expect(headersOf('/v1/documented', 'get', '304')).toEqual([
      'ETag',
      'X-Projection-Lag-Ms',
      'Preference-Applied',
      'Retry-After',
    ])
    expect(headersOf('/v1/documented', 'post', '200')).toEqual([
      'X-Commit-Position',
      'Idempotency-Replayed',
      'Preference-Applied',
    ])
    expect(headersOf('/v1/asked', 'post', '200')).toEqual([])
    expect(headersOf('/v1/clinical-api/things', 'post', '201')).toEqual([
      'Location',
      'X-Commit-Position',
      'Idempotency-Replayed',
      'Preference-Applied',
    ])
    expect(['400', '401', '403', '429', '503'].map((status) => headersOf('/v1/documented', 'post', status))).toEqual([
      [],
      ['WWW-Authenticate'],
      ['WWW-Authenticate'],
      ['Retry-After'],
      ['Retry-After'],
    ])
    expect(paths['/v1/documented']?.['post']).toMatchObject({
      requestBody: {
        required: false,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/TellBody' } } },
      },
    })
    expect(paths['/v1/documented']?.['post']).not.toHaveProperty('x-body-may-lack')
    expect(paths['/v1/asked']?.['post']?.requestBody?.required).toBe(true)
    await app.close()
  })

  it('documents 304 for a versioned record', async () => {
    const document = (await t.app.inject({ url: '/openapi.json' })).json<{
      paths: Record<string, Record<string, { responses: object }>>
    }>()
    expect(Object.keys(document.paths['/v1/clinical-api/things/{id}']?.['get']?.responses ?? {})).toEqual([
      '200',
      '304',
      '400',
      '401',
      '403',
      '404',
      '408',
      '417',
      '429',
      '431',
      '500',
      '501',
      '503',
    ])
  })

  it('lists the scopes of tokens', async () => {
    const document = (await t.app.inject({ url: '/openapi.json' })).json<{
      components: { securitySchemes: { token: { flows: { clientCredentials: { scopes: object } } } } }
    }>()
    expect(document.components.securitySchemes.token.flows.clientCredentials.scopes).toEqual({
      'things:write': 'things:write',
      'things:read': 'things:read',
      'consents:read': 'consents:read',
      'consents:write': 'consents:write',
    })
  })

  it('is compared with the answers if the application is configured so', async () => {
    const lying: Service = {
      prefix: 'consent',
      documentedAt: 'bare',
      routes: (app) => {
        app.get(
          '/lie',
          {
            schema: { response: { 200: Type.Object({ a: Type.String() }, { $id: 'Truth' }) } },
            config: { access: 'public' },
          },
          () => JSON.parse('{"a":1}') as { a: string },
        )
      },
    }
    const strict = await startApplication({ services: [lying, thingService], checkReplies: true })
    expect((await strict.app.inject({ url: '/v1/lie' })).statusCode).toBe(500)
    expect(strict.log()).toContain('the answer is not as documented: /a type')
    expect(
      (
        await strict.app.inject({
          method: 'POST',
          url: '/v1/things',
          headers: await strict.token(),
          payload: { name: 'x' },
        })
      ).statusCode,
    ).toBe(201)
    await strict.app.close()
  })

  it('has an interactive page', async () => {
    const page = await t.app.inject({ url: '/docs/' })
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, expect.stringContaining('text/html')])
  })
})

import { expect, it, vi } from 'vitest'
import { createClient, Problem } from '../client.ts'
import { cut, json, problem, scriptedServer, text, type Reply } from './scripted-server.ts'

const secrets = { clientId: 'id', clientSecret: 'secret' }
const later = problem(503, 'event-store-unavailable', true, { 'retry-after': '0' })
const patients = '/v1/clinical-api/patients'
const clients = '/v1/auth/clients'
const someone = { given_name: 'A', family_name: 'B', dob: '1980-01-01' }

/** The failure of some work. Anything but a problem is thrown. */
async function problemOf(work: Promise<unknown>): Promise<Problem> {
  const failure: unknown = await work.then(
    () => new Error('it succeeded'),
    (error: unknown) => error,
  )
  if (failure instanceof Problem) return failure
  throw failure
}

it('puts parameters into the path and the query, and sends what was asked for', async () => {
  await using server = await scriptedServer([json(200, { id: 'x' }, { etag: '"3"' })])
  const client = createClient({ baseUrl: `${server.url}/`, ...secrets })
  const options = { params: { id: 'a/b', org_id: 'o o' }, wait: 20, headers: { 'if-none-match': '"2"' } }
  const { status, headers, data } = await client.request('GET', '/v1/clinical-api/assessments/{id}', options)
  expect([status, headers.get('etag'), data.id]).toEqual([200, '"3"', 'x'])
  expect(server.received).toMatchObject([
    {
      method: 'GET',
      url: '/v1/clinical-api/assessments/a%2Fb?org_id=o+o',
      headers: { authorization: 'Bearer t', prefer: 'wait=20', 'if-none-match': '"2"' },
    },
  ])
  expect(server.received[0]?.headers).not.toHaveProperty('idempotency-key')
  for (const id of ['', '.', '..'])
    await expect(client.request('GET', '/v1/clinical-api/patients/{id}', { params: { id } })).rejects.toThrow('needs')
})

it('has no data for an answer without a body', async () => {
  await using server = await scriptedServer([(response) => void response.writeHead(204).end()])
  const answer = await createClient({ baseUrl: server.url, token: 'x' }).request('DELETE', '/v1/auth/clients/{id}', {
    params: { id: 'a' },
  })
  expect(answer).toMatchObject({ status: 204, data: undefined })
})

it('gives each POST a key of its own, and keeps it over repeats', async () => {
  await using server = await scriptedServer([later, cut, json(201, { id: 'x' })])
  const client = createClient({ baseUrl: server.url, ...secrets })
  expect((await client.request('POST', patients, { body: someone })).status).toBe(201)
  await client.request('POST', patients, { body: someone })
  await client.request('POST', patients, { body: someone, idempotencyKey: 'mine' })
  await client.request('POST', patients, { body: someone, headers: { 'Idempotency-Key': 'kept' } })
  const keys = server.received.map(({ headers }) => headers['idempotency-key'])
  expect(keys).toEqual([keys[0], keys[0], keys[0], expect.stringMatching(/^[!#-~]{1,255}$/), 'mine', 'kept'])
  expect(new Set(keys).size).toBe(4)
  for (const { headers, body } of server.received)
    expect([headers['content-type'], JSON.parse(body)]).toEqual(['application/json', someone])
})

it.each(['GET', 'PUT', 'PATCH', 'DELETE'] as const)('repeats a %s after a lost connection', async (method) => {
  const gone: Reply = (response) => void response.destroy()
  await using server = await scriptedServer([gone, cut, json(200, { ok: true })])
  const client = createClient({ baseUrl: server.url, ...secrets })
  const params = { params: { id: 'a' } }
  if (method === 'GET') await client.request(method, '/v1/clinical-api/patients/{id}', params)
  if (method === 'PATCH') await client.request(method, '/v1/clinical-api/patients/{id}', { ...params, body: {} })
  if (method === 'DELETE') await client.request(method, '/v1/auth/clients/{id}', params)
  if (method === 'PUT')
    await client.request(method, '/v1/notifications/preferences/{userId}', { params: { userId: 'a' }, body: [] })
  expect(server.received.map((request) => request.method)).toEqual([method, method, method])
})

it('tries five times at most, or once without retries', async () => {
  await using server = await scriptedServer([later])
  const first = await problemOf(createClient({ baseUrl: server.url, ...secrets, retries: 9 }).request('GET', clients))
  expect(first).toMatchObject({ code: 'event-store-unavailable', status: 503, retriable: true, retryAfterSeconds: 0 })
  expect(server.received).toHaveLength(5)
  await problemOf(createClient({ baseUrl: server.url, ...secrets, retries: 0 }).request('GET', clients))
  expect(server.received).toHaveLength(6)
})

const changed = problem(412, 'precondition-failed', false)
it.each<[string, boolean, readonly Reply[]]>([
  ['is the first one', false, [changed]],
  ['follows a limit', false, [problem(429, 'rate-limited', true, { 'retry-after': '0' }), changed]],
  ['follows a lost connection', true, [cut, changed]],
  ['follows a failure of the server', true, [later, later, changed]],
  ['is a success that nobody can read', true, [text(200, '<p>')]],
])('tells whether a change may have happened: the refusal %s', async (_, mayHaveHappened, replies) => {
  await using server = await scriptedServer(replies)
  const options = { params: { id: 'a' }, body: {}, headers: { 'if-match': '"2"' } }
  const client = createClient({ baseUrl: server.url, token: 't' })
  const refused = await problemOf(client.request('PATCH', '/v1/clinical-api/patients/{id}', options))
  expect(refused).toMatchObject({ retriable: false, mayHaveHappened })
  expect(server.received).toHaveLength(replies.length)
})

it('ends a try after 130 s and the time that the platform may wait', async () => {
  const limits: number[] = []
  const limit = vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
    limits.push(milliseconds)
    return ending.signal
  })
  let ending = new AbortController()
  try {
    await using server = await scriptedServer([() => ending.abort(), json(200, { id: 'x' })])
    const client = createClient({ baseUrl: server.url, token: 't', retries: 0 })
    const options = { params: { id: 'x' }, wait: 25 }
    const late = await problemOf(client.request('GET', '/v1/clinical-api/assessments/{id}', options))
    expect(late).toMatchObject({ code: 'connection-lost', retriable: true })
    ending = new AbortController()
    await client.request('GET', clients)
    expect(limits).toEqual([155_000, 130_000])
  } finally {
    limit.mockRestore()
  }
})

it.each<[string, Reply]>([
  ['it would not succeed later', problem(503, 'event-store-unavailable', false)],
  ['it would have to wait for hours', problem(429, 'budget-exceeded', true, { 'retry-after': '7200' })],
  [
    'an HTTP date is far away',
    problem(429, 'budget-exceeded', true, { 'retry-after': 'Fri, 01 Jan 2100 00:00:00 GMT' }),
  ],
])('does not repeat a request if %s', async (_, reply) => {
  await using server = await scriptedServer([reply])
  await problemOf(createClient({ baseUrl: server.url, ...secrets }).request('GET', clients))
  expect(server.received).toHaveLength(1)
})

it('makes a problem of every other answer, with the members of the platform', async () => {
  const errors = [{ pointer: '/dob', detail: 'must be …', code: 'format' }]
  const body = { code: 'validation-failed', status: 400, detail: 'D', retriable: false, request_id: 'r', errors }
  await using server = await scriptedServer([
    json(400, body, { 'content-type': 'application/problem+json' }),
    text(200, '<p>Log in to the network</p>'),
    (response) => void response.writeHead(200).end('{}'),
    json(200, {}, { 'content-type': 'application/json', 'content-length': '1' }),
    text(404, 'no such host'),
    (response) => void response.writeHead(302, { location: '/other' }).end(),
  ])
  const client = createClient({ baseUrl: server.url, ...secrets, retries: 0 })
  const refused = await problemOf(client.request('POST', patients, { body: someone }))
  expect(refused).toMatchObject({ code: 'validation-failed', status: 400, requestId: 'r', errors, body })
  expect(refused.message).toBe('400 validation-failed: D')
  for (const status of [200, 200, 200, 404, 302])
    expect(await problemOf(client.request('GET', clients))).toMatchObject({ code: 'answer-unreadable', status })
  expect(server.received).toHaveLength(6)
})

it.each([
  { code: 503, message: 'upstream connect error' },
  { code: 'UNAVAILABLE', message: 'try later' },
  { type: 'about:blank', title: 'Service Unavailable', status: 503 },
  { type: 503 },
])('repeats a request that the JSON of a gateway refused: %o', async (body) => {
  await using server = await scriptedServer([json(503, body, { 'retry-after': '0' }), json(200, { data: [] })])
  const client = createClient({ baseUrl: server.url, token: 't' })
  expect((await client.request('GET', clients)).status).toBe(200)
  await using gateway = await scriptedServer([json(503, body)])
  const refused = await problemOf(
    createClient({ baseUrl: gateway.url, token: 't', retries: 0 }).request('GET', clients),
  )
  expect(refused).toMatchObject({ code: 'answer-unreadable', status: 503, retriable: true })
})

it('tells of a server that cannot be reached', async () => {
  const server = await scriptedServer([])
  await server[Symbol.asyncDispose]()
  const client = createClient({ baseUrl: server.url, token: 't', retries: 1 })
  const lost = await problemOf(client.request('GET', clients))
  expect(lost).toMatchObject({ code: 'connection-lost', status: 0, retriable: true })
  expect(lost.cause).toBeInstanceOf(TypeError)
})

it('rejects with AbortError before, during and between tries, and sends nothing more', async () => {
  const asked = Promise.withResolvers<void>()
  await using server = await scriptedServer([
    problem(429, 'quota-exceeded', true, { 'retry-after': '30' }),
    () => asked.resolve(),
  ])
  const client = createClient({ baseUrl: server.url, token: 't' })
  const between = new AbortController()
  const pausing = client.request('GET', clients, { signal: between.signal })
  await vi.waitUntil(() => server.received.length === 1)
  between.abort()
  await expect(pausing).rejects.toMatchObject({ name: 'AbortError' })
  const during = new AbortController()
  const waiting = client.request('GET', clients, { signal: during.signal })
  await asked.promise
  during.abort()
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
  const before = client.request('GET', clients, { signal: AbortSignal.abort() })
  await expect(before).rejects.toMatchObject({ name: 'AbortError' })
  expect(server.received).toHaveLength(2)
})

it.each(['next_cursor', 'nextCursor'])('reads all pages of a list with %s', async (member) => {
  await using server = await scriptedServer([
    json(200, { data: [{ id: 1 }, { id: 2 }], [member]: 'a b' }),
    json(200, { data: [], [member]: 'c' }),
    json(200, { data: [{ id: 3 }], [member]: null }),
  ])
  const found: unknown[] = []
  const client = createClient({ baseUrl: server.url, ...secrets })
  for await (const item of client.list('/v1/clinical-api/cases', { params: { patient_id: 'p', limit: 2 } }))
    found.push(item)
  expect(found).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
  const query = '/v1/clinical-api/cases?patient_id=p&limit=2'
  expect(server.received.map(({ url }) => url)).toEqual([query, `${query}&cursor=a+b`, `${query}&cursor=c`])
})

it('uploads bytes without a token, and repeats what the object store could not take', async () => {
  await using server = await scriptedServer([text(503, '<Error/>'), (response) => void response.writeHead(200).end()])
  const client = createClient({ baseUrl: 'https://platform.example', ...secrets })
  await client.upload(`${server.url}/image?signature=s`, new Uint8Array([65, 66]), { type: 'image/png' })
  expect(server.received).toHaveLength(2)
  for (const { method, url, headers, body } of server.received) {
    expect([method, url, body]).toEqual(['PUT', '/image?signature=s', 'AB'])
    expect(headers).toMatchObject({ 'content-type': 'image/png', 'content-length': '2' })
    expect(headers).not.toHaveProperty('authorization')
  }
})

it('reports an upload that is refused', async () => {
  await using server = await scriptedServer([text(403, '<Error/>', { 'content-type': 'application/xml' })])
  const client = createClient({ baseUrl: server.url, ...secrets })
  const refused = await problemOf(client.upload(server.url, new Uint8Array(1), { type: 'image/png' }))
  expect(refused).toMatchObject({ code: 'answer-unreadable', status: 403, retriable: false })
  expect(server.received).toHaveLength(1)
})

import { expect, it, vi } from 'vitest'
import { createClient } from '../client.ts'
import { json, problem, scriptedServer, text, type Reply } from './scripted-server.ts'

const secrets = { clientId: 'i d', clientSecret: 's&cret' }
const clients = '/v1/auth/clients'
const found = json(200, { data: [], next_cursor: null, has_more: false })
const ended = problem(401, 'token-expired', false)

/** A new token for each request. */
function numbered(expiresIn = 3_600): Reply {
  let issued = 0
  return (response, request) => json(200, { access_token: `t${++issued}`, expires_in: expiresIn })(response, request)
}

it('gets one token for many requests', async () => {
  await using server = await scriptedServer([found], numbered())
  const client = createClient({ baseUrl: server.url, ...secrets })
  await Promise.all([client.request('GET', clients), client.request('GET', clients)])
  await client.request('GET', clients)
  expect(server.received.map(({ headers }) => headers['authorization'])).toEqual(Array(3).fill('Bearer t1'))
  expect(server.tokens.map(({ body }) => body)).toEqual([
    'grant_type=client_credentials&client_id=i+d&client_secret=s%26cret',
  ])
})

it('renews the token after half of its lifetime, and keeps a valid one if that fails', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    const replies = [
      json(200, { access_token: 't1', expires_in: 100 }),
      text(403, 'not now'),
      json(200, { access_token: 't2', expires_in: 100 }),
    ]
    await using server = await scriptedServer([found], (response, request) => replies.shift()?.(response, request))
    const client = createClient({ baseUrl: server.url, ...secrets, retries: 0 })
    const begin = Date.now()
    for (const seconds of [0, 49, 51, 60, 90]) {
      vi.setSystemTime(begin + seconds * 1_000)
      await client.request('GET', clients)
    }
    expect(server.received.map(({ headers }) => headers['authorization']?.slice(7))).toEqual([
      't1',
      't1',
      't1',
      't1',
      't2',
    ])
    expect(server.tokens).toHaveLength(3)
  } finally {
    vi.useRealTimers()
  }
})

it('renews a refused token once', async () => {
  await using server = await scriptedServer([ended, found, ended, ended], numbered())
  const client = createClient({ baseUrl: server.url, ...secrets, retries: 0 })
  await client.request('GET', clients)
  await expect(client.request('GET', clients)).rejects.toMatchObject({ code: 'token-expired' })
  expect(server.received.map(({ headers }) => headers['authorization'])).toEqual(
    ['t1', 't2', 't2', 't3'].map((t) => `Bearer ${t}`),
  )
})

it('takes a token, or calls a function for one', async () => {
  await using server = await scriptedServer([ended, found])
  let called = 0
  const client = createClient({ baseUrl: server.url, token: async () => `own${++called}` })
  await client.request('GET', clients)
  await client.request('GET', clients)
  expect(server.received.map(({ headers }) => headers['authorization'])).toEqual([
    'Bearer own1',
    'Bearer own2',
    'Bearer own2',
  ])
  await using other = await scriptedServer([ended])
  await expect(createClient({ baseUrl: other.url, token: 'x' }).request('GET', clients)).rejects.toThrow('401')
  expect(other.received).toHaveLength(1)
})

it.each<[unknown, string]>([
  [undefined, 'contains undefined'],
  [7, 'contains number'],
  ['', 'contains ""'],
  ['secret-token\n', 'contains "\\n"'],
  ['<p>Bad Gateway</p>', 'contains " "'],
])('sends no request with the token %j, and names the fault', async (given, fault) => {
  await using server = await scriptedServer([found])
  const token = vi.fn<() => Promise<string>>(async () => 'right').mockResolvedValueOnce(given as string)
  const client = createClient({ baseUrl: server.url, token })
  const refused = await client.request('GET', clients).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(TypeError)
  expect(String(refused)).toContain(fault)
  expect(String(refused)).not.toContain('secret')
  expect(server.received).toHaveLength(0)
  expect((await client.request('GET', clients)).status).toBe(200)
})

it('passes a rejection of the function on, and calls it again for the next request', async () => {
  await using server = await scriptedServer([found])
  const failure = new Error('the server of the page is away')
  const token = vi.fn<() => Promise<string>>(async () => 'right').mockRejectedValueOnce(failure)
  const client = createClient({ baseUrl: server.url, token })
  const asked = [client.request('GET', clients), client.request('GET', clients)]
  for (const one of await Promise.allSettled(asked)) expect(one).toEqual({ status: 'rejected', reason: failure })
  await client.request('GET', clients)
  expect([token.mock.calls.length, server.received.length]).toEqual([2, 1])
})

it('counts a failure of the token endpoint as a try', async () => {
  await using server = await scriptedServer(
    [found],
    problem(503, 'event-store-unavailable', true, { 'retry-after': '0' }),
  )
  const asked = createClient({ baseUrl: server.url, ...secrets, retries: 2 }).request('GET', clients)
  await expect(asked).rejects.toMatchObject({ code: 'event-store-unavailable', mayHaveHappened: false })
  expect([server.tokens.length, server.received.length]).toEqual([3, 0])
})

it('reports wrong credentials by the code of the token endpoint', async () => {
  const refused = {
    error: 'invalid_client',
    type: 'https://example.org/problems/client-invalid',
    status: 401,
    detail: 'D',
  }
  await using server = await scriptedServer([found], json(401, refused))
  const asked = createClient({ baseUrl: server.url, ...secrets }).request('GET', clients)
  await expect(asked).rejects.toMatchObject({ code: 'client-invalid', status: 401 })
  expect([server.tokens.length, server.received.length]).toEqual([1, 0])
})

it('needs credentials, and refuses a secret in a browser', () => {
  const baseUrl = 'https://platform.example'
  expect(() => createClient({ baseUrl })).toThrow('needs clientId and clientSecret, or token')
  vi.stubGlobal('document', {})
  expect(() => createClient({ baseUrl, ...secrets })).toThrow('does not belong in a browser')
  expect(() => createClient({ baseUrl, ...secrets, token: 't' })).toThrow('does not belong in a browser')
  expect(createClient({ baseUrl, token: 't' })).toBeDefined()
  vi.unstubAllGlobals()
})

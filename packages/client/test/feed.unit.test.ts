import type { ServerResponse } from 'node:http'
import { afterEach, expect, it, vi } from 'vitest'
import { createClient, type FeedItem } from '../client.ts'
import { json, problem, scriptedServer, type Reply } from './scripted-server.ts'

/** Sends the pieces of a stream, each after what it waits for. Then keeps the connection, ends or breaks it. */
function stream(end: 'open' | 'ended' | 'broken', ...pieces: readonly (string | Uint8Array | Promise<void>)[]): Reply {
  const send = async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    for (const piece of pieces)
      await (piece instanceof Promise ? piece : new Promise((sent) => response.write(piece, sent)))
    if (end === 'ended') response.end()
    if (end === 'broken') response.destroy()
  }
  return (response) => void send(response)
}
afterEach(() => void vi.restoreAllMocks().useRealTimers())

/** The sockets run on; the time of the client stands still. Gives the delay that runs, undefined without one. */
function stopTime(): () => number | undefined {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { calls } = vi.spyOn(globalThis, 'setTimeout').mock
  return () => (vi.getTimerCount() === 0 ? undefined : calls.at(-1)?.[1])
}
/** Between the start of a connection and its end, the client waits for 45 s. */
const silence = 45_000
const isPause = (delay: number | undefined) => delay !== undefined && delay !== silence

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate)
}

const block = (id: string, event?: object) =>
  `id: ${id}\n${event === undefined ? '' : `data: ${JSON.stringify(event)}\n`}\n`

async function take(events: AsyncGenerator<FeedItem>, count: number): Promise<unknown[]> {
  const taken: unknown[] = []
  for await (const { cursor, event } of events) if (taken.push([cursor, event['n']]) === count) break
  return taken
}

it('continues behind the last event after an end and a lost connection', async () => {
  const whole = block('c3', { n: 3 })
  await using server = await scriptedServer([
    stream('ended', `retry: 2000\n${block('c0')}`, ': no event\n\n', block('c1', { n: 1 }) + block('c2', { n: 2 })),
    // A block that is not whole does not count.
    stream('broken', block('c2'), whole.slice(0, 12)),
    problem(503, 'shutting-down', true, { 'retry-after': '0' }),
    stream('open', block('c2'), whole.slice(0, 5), whole.slice(5).replaceAll('\n', '\r\n')),
  ])
  const client = createClient({ baseUrl: server.url, token: 't' })
  const types = ['assessment.completed', 'assessment.failed']
  expect(await take(client.events('assessment', { after: 'now', types, orgId: 'o' }), 3)).toEqual([
    ['c1', 1],
    ['c2', 2],
    ['c3', 3],
  ])
  const query = '/v1/events/assessment?types=assessment.completed%2Cassessment.failed&org_id=o&after='
  expect(server.received.map(({ url }) => url)).toEqual(['now', 'c2', 'c2', 'c2'].map((after) => query + after))
  expect(server.received[0]?.headers).toMatchObject({ accept: 'text/event-stream', authorization: 'Bearer t' })
})

it('reads a character whose bytes come in two chunks', async () => {
  const taken = Promise.withResolvers<void>()
  const bytes = Buffer.from(block('c1', { n: 1 }) + block('c2', { n: 'ä€' }))
  const cut = bytes.indexOf('€') + 1
  await using server = await scriptedServer([
    stream('open', bytes.subarray(0, cut), taken.promise, bytes.subarray(cut)),
  ])
  const events = createClient({ baseUrl: server.url, token: 't' }).events('consent')
  await events.next()
  taken.resolve()
  expect(await take(events, 1)).toEqual([['c2', 'ä€']])
})

it('begins again where it began, if there was no event yet', async () => {
  await using server = await scriptedServer([
    stream('broken', block('place')),
    stream('open', block('place'), block('c', { n: 1 })),
  ])
  expect(await take(createClient({ baseUrl: server.url, token: 't' }).events('consent', { after: 'now' }), 1)).toEqual([
    ['c', 1],
  ])
  expect(server.received.at(-1)?.url).toBe('/v1/events/consent?after=place')
})

it('renews the token when a stream has ended with it', async () => {
  let tokens = 0
  await using server = await scriptedServer([
    stream('ended', block('c0'), block('c1', { n: 1 })),
    problem(401, 'token-expired', false),
    stream('open', block('c1'), block('c2', { n: 2 })),
  ])
  const client = createClient({ baseUrl: server.url, token: () => `t${++tokens}` })
  expect(await take(client.events('users'), 2)).toEqual([
    ['c1', 1],
    ['c2', 2],
  ])
  expect(server.received.map(({ headers }) => headers['authorization'])).toEqual([
    'Bearer t1',
    'Bearer t1',
    'Bearer t2',
  ])
})

it('a resumed feed calls the function for a token until it gives one', async () => {
  const tokens = [
    async () => 't1',
    () => Promise.reject(new Error('the server of the page restarts')),
    () => '',
    () => 't2',
  ]
  await using server = await scriptedServer([
    stream('ended', block('c1', { n: 1 })),
    problem(401, 'token-expired', false),
    stream('open', block('c2', { n: 2 })),
  ])
  const client = createClient({ baseUrl: server.url, token: () => tokens.shift()?.() ?? 'none' })
  expect(await take(client.events('users'), 2)).toEqual([
    ['c1', 1],
    ['c2', 2],
  ])
  expect(server.received.map(({ headers }) => headers['authorization'])).toEqual(
    ['t1', 't1', 't2'].map((t) => `Bearer ${t}`),
  )
})

it('rejects with the failure of the function for a token before the first connection', async () => {
  await using server = await scriptedServer([stream('open')])
  const client = createClient({ baseUrl: server.url, token: () => Promise.reject(new RangeError('mine')) })
  await expect(client.events('users').next()).rejects.toThrow(RangeError)
})

it('rejects with what the loop was left with', async () => {
  await using server = await scriptedServer([stream('open', block('c1', { n: 1 }))])
  const events = createClient({ baseUrl: server.url, token: 't' }).events('users')
  await events.next()
  await expect(events.throw(new RangeError('mine'))).rejects.toThrow(RangeError)
})

it('ends with a problem that stays', async () => {
  const lost = { code: 'cursor-lost', status: 410, detail: 'D', retriable: false, oldest_cursor: 'o' }
  await using server = await scriptedServer([json(410, lost)])
  const events = createClient({ baseUrl: server.url, token: 't' }).events('webhook', { after: 'x' })
  await expect(events.next()).rejects.toMatchObject({ code: 'cursor-lost', body: { oldest_cursor: 'o' } })
})

it('without retries ends with the connection', async () => {
  await using server = await scriptedServer([stream('ended', block('c0'), block('c1', { n: 1 }))])
  const events = createClient({ baseUrl: server.url, token: 't', retries: 0 }).events('clinical')
  expect((await events.next()).value).toMatchObject({ cursor: 'c1' })
  await expect(events.next()).rejects.toMatchObject({ code: 'connection-lost' })
})

it('rejects with AbortError, and closes the connection', async () => {
  const closed = Promise.withResolvers<void>()
  await using server = await scriptedServer([
    (response, request) => {
      response.once('close', closed.resolve)
      stream('open', block('c0'), block('c1', { n: 1 }))(response, request)
    },
  ])
  const stopping = new AbortController()
  const events = createClient({ baseUrl: server.url, token: 't' }).events('workflow', { signal: stopping.signal })
  await events.next()
  const next = events.next()
  stopping.abort()
  await expect(next).rejects.toMatchObject({ name: 'AbortError' })
  await closed.promise
})

it('closes the connection when the loop is left', async () => {
  const closed = Promise.withResolvers<void>()
  await using server = await scriptedServer([
    (response, request) => {
      response.once('close', closed.resolve)
      stream('open', block('c1', { n: 1 }))(response, request)
    },
  ])
  await take(createClient({ baseUrl: server.url, token: 't' }).events('workflow'), 1)
  await closed.promise
})

it.each([
  { asked: 120, waited: 120 },
  { asked: 86_400, waited: 3_600 },
])('a resumed feed waits $waited s if the server asks for $asked s', async ({ asked, waited }) => {
  const delay = stopTime()
  await using server = await scriptedServer([
    stream('ended', block('c1', { n: 1 })),
    problem(429, 'quota-exceeded', true, { 'retry-after': `${asked}` }),
    stream('open', block('c2', { n: 2 })),
  ])
  const events = createClient({ baseUrl: server.url, token: 't' }).events('users')
  await events.next()
  const next = events.next()
  await until(() => isPause(delay()))
  await vi.advanceTimersByTimeAsync(2_000)
  await until(() => server.received.length === 2 && isPause(delay()))
  expect(delay()).toBe(waited * 1_000)
  await vi.advanceTimersByTimeAsync(waited * 1_000)
  await vi.advanceTimersByTimeAsync(2_000)
  expect((await next).value).toMatchObject({ cursor: 'c2' })
  await events.return()
})

it('waits for what the server asks no longer than until it is aborted', async () => {
  const delay = stopTime()
  await using server = await scriptedServer([
    stream('ended', block('c1', { n: 1 })),
    problem(503, 'shutting-down', true, { 'retry-after': '600' }),
  ])
  const stopping = new AbortController()
  const { signal } = stopping
  const events = createClient({ baseUrl: server.url, token: 't' }).events('users', { signal })
  await events.next()
  const next = events.next()
  await until(() => isPause(delay()))
  await vi.advanceTimersByTimeAsync(2_000)
  await until(() => server.received.length === 2 && isPause(delay()))
  stopping.abort()
  await expect(next).rejects.toMatchObject({ name: 'AbortError' })
  expect(vi.getTimerCount()).toBe(0)
})

it('begins again after 45 s without a byte, and no earlier', async () => {
  const delay = stopTime()
  await using server = await scriptedServer([
    () => undefined,
    stream('open', block('c1', { n: 1 })),
    stream('open', block('c2', { n: 2 })),
  ])
  const events = createClient({ baseUrl: server.url, token: 't' }).events('users')
  const first = events.next()
  await until(() => server.received.length === 1)
  await vi.advanceTimersByTimeAsync(silence)
  await until(() => isPause(delay()))
  await vi.advanceTimersByTimeAsync(250)
  expect((await first).value).toMatchObject({ cursor: 'c1' })
  const second = events.next()
  await vi.advanceTimersByTimeAsync(silence - 1)
  expect(delay()).toBe(silence)
  await vi.advanceTimersByTimeAsync(1)
  await until(() => isPause(delay()))
  await vi.advanceTimersByTimeAsync(2_000)
  expect((await second).value).toMatchObject({ cursor: 'c2' })
  await events.return()
})

it.each([
  ['no JSON', block('c1', { n: 1 }) + 'id: c2\ndata: {"n":\n\n', 'no JSON'],
  ['no end', block('c1', { n: 1 }) + 'data: ' + 'a'.repeat(4 * 1024 * 1024), 'no end'],
])('ends with a problem at an event with %s', async (_, sent, detail) => {
  await using server = await scriptedServer([stream('open', sent)])
  const events = createClient({ baseUrl: server.url, token: 't' }).events('consent')
  await events.next()
  const failed = { code: 'answer-unreadable', status: 200, retriable: false, detail: expect.stringContaining(detail) }
  await expect(events.next()).rejects.toMatchObject(failed)
  expect(server.received).toHaveLength(1)
})

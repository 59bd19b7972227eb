import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { createClient, type FeedItem } from '../client.ts'
import { json, problem, scriptedServer, type Reply } from './scripted-server.ts'

/** Sends the pieces of a stream, then keeps the connection, ends or breaks it. */
function stream(end: 'open' | 'ended' | 'broken', ...pieces: readonly string[]): Reply {
  const send = async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    for (const piece of pieces) await new Promise((sent) => response.write(piece, sent))
    if (end === 'ended') response.end()
    if (end === 'broken') response.destroy()
  }
  return (response) => void send(response)
}
const block = (id: string, event?: object) =>
  `id: ${id}\n${event === undefined ? '' : `data: ${JSON.stringify(event)}\n`}\n`

async function take(events: AsyncGenerator<FeedItem>, count: number): Promise<unknown[]> {
  const taken: unknown[] = []
  for await (const { cursor, event } of events) if (taken.push([cursor, event['n']]) === count) break
  return taken
}

it('continues behind the last event after an end and a lost connection', async () => {
  const whole = block('c3', { n: 'ä3' })
  const bytes = Buffer.from(whole)
  await using server = await scriptedServer([
    stream('ended', `retry: 2000\n${block('c0')}`, ': no event\n\n', block('c1', { n: 1 }) + block('c2', { n: 2 })),
    // A block that is not whole does not count.
    stream('broken', block('c2'), whole.slice(0, 12)),
    problem(503, 'shutting-down', true, { 'retry-after': '0' }),
    stream(
      'open',
      block('c2'),
      bytes.subarray(0, 16).toString('latin1').slice(0, 5),
      whole.slice(5).replaceAll('\n', '\r\n'),
    ),
  ])
  const client = createClient({ baseUrl: server.url, token: 't' })
  const types = ['assessment.completed', 'assessment.failed']
  expect(await take(client.events('assessment', { after: 'now', types, orgId: 'o' }), 3)).toEqual([
    ['c1', 1],
    ['c2', 2],
    ['c3', 'ä3'],
  ])
  const query = '/v1/events/assessment?types=assessment.completed%2Cassessment.failed&org_id=o&after='
  expect(server.received.map(({ url }) => url)).toEqual(['now', 'c2', 'c2', 'c2'].map((after) => query + after))
  expect(server.received[0]?.headers).toMatchObject({ accept: 'text/event-stream', authorization: 'Bearer t' })
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

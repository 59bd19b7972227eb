import {
  EventStoreDBClient,
  jsonEvent,
  persistentSubscriptionToStreamSettingsFromDefaults,
} from '@eventstore/db-client'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startEventStore, type EventStoreNode } from '../../start.ts'

let dataDir = ''
let node: EventStoreNode
let client: EventStoreDBClient

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
  node = await startEventStore({ dataDir })
  client = EventStoreDBClient.connectionString(node.url)
})

afterEach(async () => {
  await client.dispose()
  await node.stop()
  await rm(dataDir, { recursive: true, force: true })
})

const noted = (n: number) => jsonEvent({ type: 'Noted', data: { n } })
const ask = (path: string, init?: RequestInit): Promise<Response> => fetch(`http://127.0.0.1:${node.port}${path}`, init)
const figures = async (): Promise<unknown> => (await ask('/stats')).json()

test('counts streams, events, bytes and syncs, also after a restart', async () => {
  expect(await figures()).toMatchObject({
    streams: 0,
    events: 0,
    syncs: 0,
    connections: 0,
    subscriptions: [],
    persistentSubscriptions: [],
  })
  await client.appendToStream('a-1', [noted(0), noted(1)])
  await client.appendToStream('a-2', noted(0))
  await client.setStreamMetadata('a-2', { maxCount: 1 })
  await client.deleteStream('a-1')
  const counts = { streams: 4, events: 5 }
  expect(await figures()).toMatchObject({ ...counts, connections: 1, syncs: expect.any(Number) })
  await client.dispose()
  await node.stop()
  node = await startEventStore({ dataDir })
  expect(await figures()).toMatchObject(counts)
  node.kill()
  await node.exited
  node = await startEventStore({ dataDir })
  client = EventStoreDBClient.connectionString(node.url)
  await client.appendToStream('a-3', noted(0))
  expect(await figures()).toMatchObject({ streams: 5, events: 6 })
})

test('counts open connections with calls', async () => {
  const sessions = [1, 2].map(() => connectHttp2(`http://127.0.0.1:${node.port}`))
  await expect.poll(figures).toMatchObject({ connections: 2 })
  sessions[0]?.close()
  await expect.poll(figures).toMatchObject({ connections: 1 })
  sessions[1]?.destroy()
  await expect.poll(figures).toMatchObject({ connections: 0 })
})

test('lists a subscription with its lag until its client leaves', async () => {
  await client.appendToStream('a-1', [noted(0), noted(1)])
  const ofStream = client.subscribeToStream('a-1')
  const ofAll = client.subscribeToAll()
  for (const subscription of [ofStream, ofAll]) {
    subscription.on('data', () => {})
    await new Promise<void>((resolve) => {
      subscription.once('caughtUp', () => resolve())
    })
  }
  const subscriptions = [
    { stream: 'a-1', user: 'system', reached: 1, head: 1, lagEvents: 0, connectionName: expect.stringMatching(/./) },
    { stream: '$all', lagBytes: 0 },
  ]
  await expect.poll(figures).toMatchObject({ subscriptions })
  await ofStream.unsubscribe()
  await ofAll.unsubscribe()
  await expect.poll(figures).toMatchObject({ subscriptions: [] })
})

test('shows the growing lag of a client that stops reading', async () => {
  const large = () => Array.from({ length: 8 }, () => jsonEvent({ type: 'Noted', data: { text: 'x'.repeat(100_000) } }))
  for (let n = 0; n < 20; n += 1) await client.appendToStream('a-1', large())
  const stalled = client.subscribeToStream('a-1')
  stalled.pause()
  const lag = expect.objectContaining({
    stream: 'a-1',
    head: 159,
    lagEvents: expect.toSatisfy((events: unknown) => Number(events) > 0),
  })
  await expect.poll(figures).toMatchObject({ subscriptions: [lag] })
  stalled.on('error', () => {})
  await stalled.unsubscribe()
})

test('lists a group with its messages', async () => {
  await client.appendToStream('a-1', [noted(0), noted(1), noted(2)])
  await client.createPersistentSubscriptionToStream(
    'a-1',
    'readers',
    persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: 'start' }),
  )
  const group = { stream: 'a-1', group: 'readers', status: 'Live', consumers: 0, parked: 0, head: 2, lagEvents: 3 }
  await expect.poll(figures).toMatchObject({ persistentSubscriptions: [group] })
  const consumer = client.subscribeToPersistentSubscriptionToStream('a-1', 'readers')
  consumer.on('data', (event) => void consumer.nack('park', 'test', event))
  await expect.poll(figures).toMatchObject({
    persistentSubscriptions: [{ ...group, consumers: 1, delivered: 3, parked: 3, lagEvents: expect.any(Number) }],
  })
  await consumer.unsubscribe()
})

test('answers 404 with the list of paths for an unknown path, and allows no changes', async () => {
  const missing = await ask('/web/index.html')
  expect(missing.status).toBe(404)
  expect(await missing.json()).toMatchObject({ paths: ['/health/live', '/ping', '/info', '/stats'] })
  const changing = await ask('/stats', { method: 'POST', body: '{}' })
  expect(changing.status).toBe(405)
  expect(changing.headers.get('allow')).toBe('GET, HEAD')
  await changing.text()
  expect((await ask('/health/live?some=thing', { method: 'HEAD' })).status).toBe(200)
  expect(await (await ask('/health/live')).json()).toEqual({ status: 'live' })
})

test('answers a request that arrives byte by byte', async () => {
  const socket = connect({ port: node.port, host: '127.0.0.1', noDelay: true })
  const answered = new Promise<string>((resolve) => {
    socket.once('data', (bytes: Buffer) => resolve(bytes.toString('latin1')))
  })
  for (const byte of 'GET /health/live HTTP/1.1\r\nhost: here\r\n\r\n') {
    await new Promise<void>((resolve) => {
      socket.write(byte, () => resolve())
    })
  }
  expect(await answered).toMatch(/^HTTP\/1.1 200 OK/)
  socket.destroy()
})

test('a stop does not wait for open connections', async () => {
  const idle = connect(node.port, '127.0.0.1')
  idle.on('error', () => {}).resume()
  const kept = await ask('/info', { headers: { connection: 'keep-alive' } })
  await kept.text()
  await node.stop()
  await expect.poll(() => idle.destroyed).toBe(true)
  node = await startEventStore({ dataDir })
})

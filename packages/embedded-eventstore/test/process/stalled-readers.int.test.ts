import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventStoreDBClient, binaryEvent, type ResolvedEvent } from '@eventstore/db-client'
import { PersistentSubscriptionsClient } from '@eventstore/db-client/generated/persistent_grpc_pb.js'
import persistent from '@eventstore/db-client/generated/persistent_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { credentials } from '@grpc/grpc-js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startEventStore, type EventStoreNode } from '../../start.ts'
import { SOON, settings } from '../contract/persistent-consumer.ts'
import { batchRequest } from '../contract/raw-append.ts'

const LARGE = 24
const SMALL = 200
const MEGABYTE = 1 << 20

let dataDir = ''
let node: EventStoreNode | undefined

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
})

afterEach(async () => {
  await node?.stop()
  await rm(dataDir, { recursive: true, force: true })
})

/** Memory of the node in megabytes. */
function resident(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024
}

type Stalled = { total: number; resume(): Promise<number> }

/** Takes one event and stops reading. `resume` takes the rest, up to a total. */
async function stall(reader: AsyncIterable<{ event?: ResolvedEvent['event'] }>, total: number): Promise<Stalled> {
  const events = reader[Symbol.asyncIterator]()
  await events.next()
  return {
    total,
    resume: async () => {
      let seen = 1
      while (seen < total && (await events.next()).done !== true) seen += 1
      return seen
    },
  }
}

test('stalled readers and subscribers cost the node the memory of only a few events', async () => {
  node = await startEventStore({ dataDir })
  const { pid, url } = node
  const writer = EventStoreDBClient.connectionString(url)
  for (let n = 0; n < LARGE; n += 1)
    await writer.appendToStream('large', binaryEvent({ type: 'Large', data: Buffer.alloc(MEGABYTE, n) }))
  await writer.appendToStream(
    'links',
    Array.from({ length: LARGE }, (_, n) => binaryEvent({ type: '$>', data: Buffer.from(`${n}@large`) })),
  )
  const before = resident(pid)
  const reader = EventStoreDBClient.connectionString(url)
  const stalled: Stalled[] = []
  for (let n = 0; n < 2; n += 1) {
    stalled.push(await stall(reader.readStream('large'), LARGE))
    stalled.push(await stall(reader.readStream('links', { resolveLinkTos: true }), LARGE))
    stalled.push(await stall(reader.readAll({ maxCount: LARGE }), LARGE))
    stalled.push(await stall(reader.subscribeToStream('links', { resolveLinkTos: true }), LARGE))
    stalled.push(await stall(reader.subscribeToAll(), 2 * LARGE + SMALL))
  }
  for (let n = 0; n < SMALL; n += 1)
    await writer.appendToStream('small', binaryEvent({ type: 'Small', data: Buffer.alloc(10) }))
  const held = resident(pid) - before
  expect(held).toBeLessThan(stalled.length * 8)
  for (const one of stalled) expect(await one.resume()).toBe(one.total)
  await writer.dispose()
  await reader.dispose()
})

test('a client that does not read its append answers gets all of them later; other clients are served meanwhile', async () => {
  node = await startEventStore({ dataDir })
  const raw = new StreamsClient(new URL(node.url.replace('esdb:', 'http:')).host, credentials.createInsecure())
  const call = raw.batchAppend()
  let answered = 0
  call.on('error', () => {})
  call.pause()
  const total = 20_000
  for (let n = 0; n < total; n += 1) call.write(batchRequest(`answers-${n % 50}`, '{}'))
  const other = EventStoreDBClient.connectionString(node.url)
  for (let n = 0; n < 50; n += 1)
    await other.appendToStream('beside', binaryEvent({ type: 'Small', data: Buffer.alloc(10) }))
  const all = new Promise<void>((resolve) => {
    call.on('data', () => {
      answered += 1
      if (answered === total) resolve()
    })
  })
  call.resume()
  await all
  call.cancel()
  expect(answered).toBe(total)
  raw.close()
  await other.dispose()
})

test('a consumer that stops reading gets no more messages again than it asked for, and loses none', async () => {
  node = await startEventStore({ dataDir })
  const client = EventStoreDBClient.connectionString(node.url)
  await client.createPersistentSubscriptionToStream(
    'large',
    'group',
    settings({ messageTimeout: 100, maxRetryCount: 1_000 }),
  )
  const asked = 20
  for (let n = 0; n < asked; n += 1)
    await client.appendToStream('large', binaryEvent({ type: 'Large', data: Buffer.alloc(100_000, n) }))
  const raw = new PersistentSubscriptionsClient(
    new URL(node.url.replace('esdb:', 'http:')).host,
    credentials.createInsecure(),
  )
  const call = raw.read()
  call.on('error', () => {})
  // Before its first message, a call takes every message and keeps it.
  call.once('data', () => call.pause())
  call.write(
    new persistent.ReadReq().setOptions(
      new persistent.ReadReq.Options()
        .setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from('large')))
        .setGroupName('group')
        .setBufferSize(asked)
        .setUuidOption(new persistent.ReadReq.Options.UUIDOption().setString(new shared.Empty())),
    ),
  )
  const statistics = async () => (await client.getPersistentSubscriptionToStreamInfo('large', 'group')).stats
  await expect.poll(async () => (await statistics()).totalItems, SOON).toBeGreaterThanOrEqual(6n * BigInt(asked))
  let received = 0
  const seen = new Set<string>()
  call.on('data', (reply: persistent.ReadResp) => {
    const id = reply.getEvent()?.getEvent()?.getId()
    if (id === undefined) return
    received += 1
    seen.add(id.getString())
    call.write(new persistent.ReadReq().setAck(new persistent.ReadReq.Ack().setIdsList([id])))
  })
  call.resume()
  await expect.poll(statistics, SOON).toMatchObject({ outstandingMessagesCount: 0, retryBufferCount: 0 })
  // It comes after everything that waited.
  await client.appendToStream('large', binaryEvent({ type: 'Last', data: Buffer.alloc(1) }))
  await expect.poll(() => seen.size, SOON).toBe(asked + 1)
  expect(received).toBeLessThanOrEqual(4 * asked)
  call.cancel()
  raw.close()
  await client.dispose()
})

import { randomUUID } from 'node:crypto'
import { binaryEvent, jsonEvent, EventStoreDBClient, type EventData } from '@eventstore/db-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectEventStore, type EventStoreConnection } from '../../../engine/store/connection.ts'
import { frameOf } from '../../../engine/store/log-frames.ts'
import { readLogForwards } from '../../../engine/store/reading.ts'
import { openRawLog, openRawStream, type RawCall } from '../../../engine/store/raw-calls.ts'
import { comparePositions, type Position } from '../../../platform/kit/positions.ts'
import { freshEventStore, type TestEventStore } from 'embedded-eventstore/testing'

let node: TestEventStore
let client: EventStoreDBClient
let connection: EventStoreConnection

beforeAll(async () => {
  node = await freshEventStore()
  client = EventStoreDBClient.connectionString(node.url)
  connection = connectEventStore({ url: node.url })
})

afterAll(async () => {
  connection.close()
  await client.dispose()
  await node.stop()
})

const bytes = Uint8Array.from([0, 255, 128, 10, 0xe2, 0x82])

function events(): EventData[] {
  const stream = `linked-${randomUUID()}`
  return [
    jsonEvent({
      type: 'Noted',
      data: { text: 'née Ünsal \u2028 \ud83d\ude00' },
      metadata: { $correlationId: 'c', room: 1 },
    }),
    jsonEvent({ type: 'Noted', data: {} }),
    jsonEvent({ type: 'note', data: [1, null, 'x'] as never, metadata: bytes }),
    binaryEvent({ type: 'Scanned', data: bytes, metadata: bytes }),
    binaryEvent({ type: 'Scanned', data: new Uint8Array(), metadata: new Uint8Array() }),
    binaryEvent({ type: 'Scanned', data: Buffer.from('{"looks":"like JSON"}'), metadata: { is: 'JSON' } }),
    binaryEvent({ type: '$>', data: Buffer.from(`0@${stream}`) }),
    jsonEvent({ type: 'Größe', data: { large: 'x'.repeat(70_000) }, metadata: {} }),
  ]
}

async function framesOf(read: RawCall, upTo: Position) {
  const found = []
  for await (const message of read) {
    const frame = frameOf(message as Buffer)
    if (frame === undefined || !frame.isUpTo(upTo)) continue
    const { dataBytes: _, metadataBytes: __, ...event } = frame.open()
    found.push(event)
  }
  return found
}

test('a page of the log equals the client’s result, including links, bytes and empty content', async () => {
  const stream = `frames-${randomUUID()}`
  const first = await client.appendToStream(stream, jsonEvent({ type: 'Begun', data: {} }))
  await client.setStreamMetadata(stream, { maxCount: 1_000, truncateBefore: 0 })
  const last = await client.appendToStream(stream, events())
  if (first.position === undefined || last.position === undefined) throw new Error('no positions')
  const { position: upTo } = last
  const expected = []
  for await (const { event } of client.readAll({ fromPosition: first.position })) {
    if (event?.position !== undefined && comparePositions(event.position, upTo) <= 0) expected.push(event)
  }
  const found = await framesOf(await openRawLog(connection.subscriptions, first.position), upTo)

  expect(found.filter(({ streamId }) => streamId === stream)).toHaveLength(events().length + 1)
  expect(found.some(({ streamId }) => streamId === `$$${stream}`)).toBe(true)
  expect(found).toEqual(expected)
})

test('a stream of links equals the client’s result', async () => {
  const [source, links] = [`source-${randomUUID()}`, `links-${randomUUID()}`]
  await client.appendToStream(source, events())
  const last = await client.appendToStream(links, [
    binaryEvent({ type: '$>', data: Buffer.from(`1@${source}`), metadata: Buffer.from('{"$o":"frames"}') }),
    binaryEvent({ type: '$>', data: Buffer.from(`7@nothing-${randomUUID()}`) }),
  ])
  if (last.position === undefined) throw new Error('no position')
  const expected = []
  for await (const { event } of client.readStream(links)) if (event !== undefined) expected.push(event)
  const found = await framesOf(
    await openRawStream(connection.commands, links, { from: 'start', direction: 'forwards', limit: 100 }),
    last.position,
  )

  expect(found).toHaveLength(2)
  expect(found).toEqual(expected)
})

test('the stored log has each event with its bytes, in its order, after a position, and nothing of the server', async () => {
  const stream = `stored-${randomUUID()}`
  const { position: before } = await client.appendToStream(stream, jsonEvent({ type: 'Begun', data: {} }))
  await client.appendToStream(stream, events())
  await client.setStreamMetadata(stream, { maxCount: 1 })
  await client.appendToStream(`other-${randomUUID()}`, jsonEvent({ type: 'Ended', data: {} }))
  const after = before ?? { commit: 0n, prepare: 0n }
  const stored = []
  for await (const event of readLogForwards(
    connection.subscriptions,
    { after },
    { silenceMs: 5_000, budgetMs: 5_000 },
    (frame) => frame.stored(),
  ))
    stored.push({ ...event, dataBytes: Buffer.from(event.dataBytes), metadataBytes: Buffer.from(event.metadataBytes) })
  const upTo = stored.at(-1)?.position ?? after
  const opened = []
  for await (const message of await openRawLog(connection.subscriptions, after)) {
    const frame = frameOf(message as Buffer)
    if (frame === undefined || frame.isUpTo(after) || frame.stream.startsWith('$')) continue
    const { id, type, streamId, revision, position, created, dataBytes, metadataBytes } = frame.open()
    if (!frame.isUpTo(upTo)) continue
    opened.push({ id, type, stream: streamId, revision, position, created, dataBytes, metadataBytes })
  }
  expect(stored).toEqual(opened)
  expect(stored.map(({ type }) => type)).toEqual([...events().map(({ type }) => type), 'Ended'])
})

import { binaryEvent, EventStoreDBClient, START, UnknownError, type EventData } from '@eventstore/db-client'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { appendText, rawStreams } from '../../../packages/embedded-eventstore/test/contract/raw-append.ts'
import { startEventStore, type EventStoreNode } from 'embedded-eventstore'
import { waitFor } from '../../support/platform.ts'
import { limitFileSize, newestSegmentSize } from '../../../tools/faults/file-size-limit.ts'

let dataDir: string
let node: EventStoreNode
let client: EventStoreDBClient

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'full-disk-'))
  node = await startEventStore({ dataDir })
  client = EventStoreDBClient.connectionString(node.url)
})

afterEach(async () => {
  await client.dispose()
  await node.stop()
  await rm(dataDir, { recursive: true, force: true })
})

function block(bytes = 32 << 10): EventData {
  return binaryEvent({ type: 'Block', data: new Uint8Array(randomBytes(bytes)) })
}

/** Appends until the node refuses one. Returns the acknowledged ids. */
async function fill(stream: string): Promise<string[]> {
  const acknowledged: string[] = []
  for (let round = 0; round < 50; round += 1) {
    const appends = Array.from({ length: 10 }, async (_, writer) => {
      const event = block()
      await client.appendToStream(`${stream}-${writer}`, event)
      acknowledged.push(event.id)
    })
    const settled = await Promise.allSettled(appends)
    const refused = settled.filter((one) => one.status === 'rejected')
    for (const { reason } of refused) expectRefusal(reason)
    if (refused.length > 0) return acknowledged
  }
  throw new Error('the limit was never reached')
}

function expectRefusal(reason: unknown): void {
  expect(reason).toBeInstanceOf(UnknownError)
  expect(String(reason)).toContain('NoRoomOnDisk')
}

async function idsInLog(): Promise<string[]> {
  const ids: string[] = []
  for await (const { event } of client.readAll({ fromPosition: START, direction: 'forwards', maxCount: 100_000 })) {
    if (event?.type === 'Block') ids.push(event.id)
  }
  return ids
}

test('a node without room refuses appends and still answers; with room it accepts them again and has lost nothing', async () => {
  await client.appendToStream('before-0', block(1))
  await limitFileSize(node.pid, await newestSegmentSize(dataDir))
  const seen: string[] = []
  const subscription = client.subscribeToAll().on('data', ({ event }) => {
    if (event?.type === 'Block') seen.push(event.id)
  })
  subscription.on('error', () => undefined)

  const acknowledged = await fill('filling')
  expect(acknowledged.length).toBeGreaterThan(10)
  await expect(client.appendToStream('more', [block(512 << 10)])).rejects.toThrow('NoRoomOnDisk')
  await expect(client.appendToStream('nothing', [], { expectedRevision: 'any' })).rejects.toThrow('NoRoomOnDisk')
  const during = await idsInLog()
  expect(new Set(during)).toEqual(new Set([during[0] ?? '', ...acknowledged]))

  await limitFileSize(node.pid, 'unlimited')
  const late = block(512 << 10)
  await waitFor('room', () =>
    client.appendToStream('more', late, { expectedRevision: 'no_stream' }).then(
      () => true,
      () => undefined,
    ),
  )
  await client.appendToStream('nothing', [], { expectedRevision: 'any' })
  await waitFor('the subscriber', () => (seen.includes(late.id) ? true : undefined))
  const after = await idsInLog()
  expect(after).toEqual([...during, late.id])
  expect(seen).toEqual(after)
  await subscription.unsubscribe()
})

test('a node killed on a full disk starts there again with everything that it acknowledged', async () => {
  await client.appendToStream('before-0', block(1))
  await limitFileSize(node.pid, await newestSegmentSize(dataDir))
  const acknowledged = await fill('filling')
  node.kill()
  await node.exited
  await client.dispose()
  node = await startEventStore({ dataDir })
  client = EventStoreDBClient.connectionString(node.url)
  const [, ...kept] = await idsInLog()
  expect(new Set(kept)).toEqual(new Set(acknowledged))
  const byStream: string[] = []
  for (let writer = 0; writer < 10; writer += 1) {
    for await (const { event } of client.readStream(`filling-${writer}`)) byStream.push(event?.id ?? '')
  }
  expect(new Set(byStream)).toEqual(new Set(acknowledged))
  await client.appendToStream('after', block())
})

test('an append that revives a stream is refused if there is room only for its event', async () => {
  await client.appendToStream('hidden', [block(1), block(1)])
  const raw = rawStreams(node.url)
  await appendText(raw, '$$hidden', `{"$tb":9223372036854775807,"note":"${'x'.repeat(200_000)}"}`)
  raw.close()
  await limitFileSize(node.pid, await newestSegmentSize(dataDir))
  await fill('filling')
  await client.appendToStream('small', block(1))
  await expect(client.appendToStream('hidden', block(1), { expectedRevision: 1n })).rejects.toThrow('NoRoomOnDisk')
  await client.appendToStream('small', block(1), { expectedRevision: 0n })

  await limitFileSize(node.pid, 'unlimited')
  const revived = block(1)
  await waitFor('room', () =>
    client.appendToStream('hidden', revived, { expectedRevision: 1n }).then(
      () => true,
      () => undefined,
    ),
  )
  const read: string[] = []
  for await (const { event } of client.readStream('hidden')) read.push(`${event?.revision} ${event?.id}`)
  expect(read).toEqual([`2 ${revived.id}`])
})

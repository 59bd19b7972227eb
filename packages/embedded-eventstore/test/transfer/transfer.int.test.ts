import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { mkdtemp, open, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ByteClient } from '../../transfer/byte-client.ts'
import { exportStore, isSystemStream } from '../../transfer/export.ts'
import { eventLine, type TransferredEvent } from '../../transfer/exported-line.ts'
import { readExport } from '../../transfer/export-file.ts'
import { FILLER_EVENT, importStore } from '../../transfer/import.ts'
import {
  hostedEventStore,
  isRealEventStore,
  realEventStoreUrl,
  type TestEventStore,
} from '../../testing/fresh-event-store.ts'
import { collect } from '../contract/contract-store.ts'
import { StoreModel } from '../../checks/model.ts'
import { RandomOperations } from '../../checks/random-operations.ts'
import { SeededRandom } from '../../checks/seeded-random.ts'
import { StoreUnderCheck } from '../../checks/store-under-check.ts'

let folder = ''
let file = ''
let stores: TestEventStore[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'transfer-'))
  file = join(folder, 'all.jsonl')
})

afterEach(async () => {
  for (const store of stores) await store.stop()
  stores = []
  await rm(folder, { recursive: true, force: true })
})

async function freshStore(): Promise<string> {
  const store = await hostedEventStore()
  stores.push(store)
  return store.url
}

async function withBytes<Result>(url: string, act: (client: ByteClient) => Promise<Result>): Promise<Result> {
  const client = new ByteClient(url)
  try {
    return await act(client)
  } finally {
    await client.dispose()
  }
}

const bytes = (text: string): Uint8Array => Buffer.from(text)
const event = (
  data: Uint8Array,
  isJson = true,
): { id: string; type: string; isJson: boolean; data: Uint8Array; metadata: Uint8Array } => ({
  id: crypto.randomUUID(),
  type: 'Noted',
  isJson,
  data,
  metadata: bytes(''),
})

function written(stream: string, revision: bigint, type = 'Noted'): TransferredEvent {
  return { ...event(bytes('{}')), stream, revision, type, created: '0' }
}

/**
 * All of `$all` without the parts that may differ between two stores: the creation time, and the ids of events that a
 * store wrote itself.
 */
async function contentsOf(url: string): Promise<string[]> {
  return withBytes(url, async (client) => {
    const lines: string[] = []
    for await (const { created: _created, ...rest } of client.readAll()) {
      const isOwn = rest.type === '$metadata' || rest.type === '$streamDeleted'
      const data = isOwn
        ? bytes(JSON.stringify(rest.data.length === 0 ? '' : JSON.parse(Buffer.from(rest.data).toString('utf8'))))
        : rest.data
      lines.push(eventLine({ ...rest, data, id: isOwn ? '' : rest.id, created: '' }))
    }
    return lines
  })
}

/** Writes an export by hand, as another store could have made it. */
async function exportedByHand(events: TransferredEvent[]): Promise<void> {
  const lines = [
    JSON.stringify({ format: 'eventstore-export/1', exportedAt: '', withSystemStreams: false }),
    ...events.map(eventLine),
  ]
    .map((line) => `${line}\n`)
    .join('')
  await writeFile(
    file,
    `${lines}${JSON.stringify({ events: events.length, sha256: createHash('sha256').update(lines).digest('hex') })}\n`,
  )
}

/** Random appends, deletes and metadata in streams of a run. */
async function fillAtRandom(url: string, run: string, seed: number): Promise<StoreModel> {
  const model = new StoreModel()
  const generated = new RandomOperations(new SeededRandom(seed), new SeededRandom(Date.now()), model, run, true)
  const store = new StoreUnderCheck(url, run, false)
  for (let left = 900; left > 0; left -= 1) {
    const operation = generated.next()
    if (operation.kind !== 'append' && operation.kind !== 'delete' && operation.kind !== 'tombstone') continue
    await store.perform(operation)
    const answer = model.apply(operation)
    if (operation.kind === 'append' && answer.outcome === 'written') generated.wrote(operation, answer.revision)
  }
  await store.client.dispose()
  return model
}

async function everythingOf(url: string, run: string): Promise<string[]> {
  const store = new StoreUnderCheck(url, run, false)
  try {
    return await store.everything()
  } finally {
    await store.client.dispose()
  }
}

describe('an export and import of a store', () => {
  test('transfers deletes, revivals, tombstones, metadata and links', async () => {
    const [from, to] = [await freshStore(), await freshStore()]
    const model = await fillAtRandom(from, 'moved', 5)
    const { events } = await exportStore({ url: from, out: file, withSystemStreams: true })
    expect(events).toBe(model.log.length)
    const result = await importStore(to, file)
    expect(result).toMatchObject({ events, filled: 0 })
    expect(result.writtenByStore).toBeGreaterThan(0)
    expect(await contentsOf(to)).toEqual(await contentsOf(from))
    expect(await everythingOf(to, 'moved')).toEqual(model.everything())
  })

  test('transfers a revival without events', async () => {
    const [from, to] = [await freshStore(), await freshStore()]
    const client = EventStoreDBClient.connectionString(from)
    await client.appendToStream('a', jsonEvent({ type: 'A', data: {} }))
    await client.deleteStream('a')
    await client.appendToStream('a', [])
    await client.setStreamMetadata('a', { maxCount: 3 })
    await client.appendToStream('a', jsonEvent({ type: 'B', data: {} }))
    await client.dispose()
    await exportStore({ url: from, out: file, withSystemStreams: false })
    expect(await importStore(to, file)).toMatchObject({ events: 5, writtenByStore: 1 })
    expect(await contentsOf(to)).toEqual(await contentsOf(from))
  })

  if (isRealEventStore) {
    test.each([1, 2, 3])('transfers everything to a real server and back: seed %i', async (seed) => {
      const run = `moved${Date.now().toString(36)}`
      const [from, to] = [await freshStore(), await freshStore()]
      const model = await fillAtRandom(from, run, seed)
      await exportStore({ url: from, out: file, withSystemStreams: true })
      await importStore(realEventStoreUrl, file)
      expect(await everythingOf(realEventStoreUrl, run)).toEqual(model.everything())
      await exportStore({ url: realEventStoreUrl, out: file, withSystemStreams: true })
      await importStore(to, file)
      expect((await contentsOf(to)).filter((line) => line.includes(run))).toEqual(await contentsOf(from))
    })
  }

  test('keeps bytes unchanged: spaces and digits in JSON, invalid UTF-8, no data at all', async () => {
    const [from, to] = [await freshStore(), await freshStore()]
    const kept = [
      bytes('{ "n" : 12345678901234567890.10, "2":1, "1":2 }'),
      bytes('"a\u2028b"'),
      Buffer.from([0xff, 0xfe, 0x00, 0x0a]),
      Buffer.alloc(0),
    ]
    await withBytes(from, (client) =>
      client.append(
        'exact',
        -1n,
        kept.map((data, at) => event(data, at < 2)),
      ),
    )
    await exportStore({ url: from, out: file, withSystemStreams: false })
    await importStore(to, file)
    const found = await withBytes(to, (client) => collect(client.readAll()))
    expect(found.map(({ data }) => Buffer.from(data).toString('hex'))).toEqual(
      kept.map((data) => Buffer.from(data).toString('hex')),
    )
    expect(found.map(({ isJson }) => isJson)).toEqual([true, true, false, false])
  })

  test("omits the store's own streams, and includes the metadata of exported streams", async () => {
    const from = await freshStore()
    const client = EventStoreDBClient.connectionString(from)
    await client.appendToStream('$settings', jsonEvent({ type: 'A', data: {} }))
    await client.setStreamMetadata('$settings', { maxCount: 1 })
    await client.appendToStream('mine', jsonEvent({ type: 'A', data: {} }))
    await client.setStreamMetadata('mine', { maxCount: 1 })
    await client.dispose()
    expect(await exportStore({ url: from, out: file, withSystemStreams: false })).toMatchObject({
      events: 2,
      leftOut: 2,
    })
    const streams = (await collect(readExport(file))).map(({ stream }) => stream)
    expect(streams).toEqual(['mine', '$$mine'])
    expect(['$x', '$$$x', '$$$$$x'].map(isSystemStream)).toEqual([true, true, true])
    expect(['x', '$$x', '$$$$x', 'a$'].map(isSystemStream)).toEqual([false, false, false, false])
  })
})

describe('an import into a store', () => {
  test('with other events in a stream stops there with an error', async () => {
    const to = await freshStore()
    await withBytes(to, (client) => client.append('taken', -1n, [event(bytes('{}'))]))
    await exportedByHand([written('taken', 0n)])
    await expect(importStore(to, file)).rejects.toThrow(/taken already has events/)
  })

  test('that was interrupted is completed by a second one', async () => {
    const to = await freshStore()
    const events = [written('a', 0n), written('b', 0n), written('a', 1n)]
    await exportedByHand(events.slice(0, 2))
    await importStore(to, file)
    await exportedByHand(events)
    await importStore(to, file)
    const found = await withBytes(to, (client) => collect(client.readAll()))
    expect(found.map(({ stream, revision, id }) => [stream, revision, id])).toEqual(
      events.map(({ stream, revision, id }) => [stream, revision, id]),
    )
  })

  test('fills the gaps of a scavenge, so that revisions stay', async () => {
    const to = await freshStore()
    await exportedByHand([written('worn', 2n), written('worn', 4n)])
    expect(await importStore(to, file)).toMatchObject({ events: 2, filled: 3 })
    const found = await withBytes(to, (client) => collect(client.readAll()))
    expect(found.map(({ type }) => type)).toEqual([FILLER_EVENT, FILLER_EVENT, 'Noted', FILLER_EVENT, 'Noted'])
  })

  test('that was interrupted behind a gap of a scavenge is completed by a second one', async () => {
    const to = await freshStore()
    const events = [written('worn', 2n), written('worn', 4n)]
    await exportedByHand(events.slice(0, 1))
    await importStore(to, file)
    await exportedByHand(events)
    expect(await importStore(to, file)).toMatchObject({ events: 2 })
    const found = await withBytes(to, (client) => collect(client.readAll()))
    expect(found.map(({ type }) => type)).toEqual([FILLER_EVENT, FILLER_EVENT, 'Noted', FILLER_EVENT, 'Noted'])
  })

  test('stops before a write that would crash a real server', async () => {
    const to = await freshStore()
    const deletion = { ...written('$$a', 0n, '$metadata'), data: bytes('{"$tb":9223372036854775807}') }
    await exportedByHand([
      written('a', 0n),
      deletion,
      { ...written('$$a', 2n ** 63n - 1n, '$streamDeleted'), isJson: false, data: bytes('') },
    ])
    await expect(importStore(to, file)).rejects.toThrow(/would crash a real server/)
  })

  test.each([
    ['cut off', (text: string) => text.split('\n').slice(0, -2).join('\n'), /incomplete/],
    ['changed', (text: string) => text.replace('Noted', 'Notes'), /checksum/],
    ['something else', () => '{"id":1}\n', /no data|no stream|no export/],
    [
      'longer than it was',
      (text: string) => `${text}{"format":"eventstore-export/1","exportedAt":""}\n`,
      /after its end/,
    ],
  ])('of a file that is %s writes nothing', async (_what, change, message) => {
    const to = await freshStore()
    await exportedByHand([written('a', 0n), written('a', 1n)])
    await writeFile(file, change(await readFile(file, 'utf8')))
    await expect(importStore(to, file)).rejects.toThrow(message)
    expect(await contentsOf(to)).toEqual([])
  })
})

test('an export synchronises its folder after the file has its name', async () => {
  const from = await freshStore()
  const handle = await open(folder)
  const names: string[][] = []
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync').mockImplementation(() => {
    names.push(readdirSync(folder))
  })
  await handle.close()
  await exportStore({ url: from, out: file, withSystemStreams: false })
  sync.mockRestore()
  expect(names).toEqual([['all.jsonl.part'], ['all.jsonl']])
})

test('a failed export leaves no file', async () => {
  await expect(
    exportStore({ url: 'esdb://127.0.0.1:9?tls=false&maxDiscoverAttempts=1', out: file, withSystemStreams: false }),
  ).rejects.toThrow(/connect|unavailable/i)
  expect(await readdir(folder)).toEqual([])
})

import { BACKWARDS, END, jsonEvent } from '@eventstore/db-client'
import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { collect, contractStore, counted, emitted, failure, revisions, takeUntil } from './contract-store.ts'
import { ByteClient } from '../../transfer/byte-client.ts'
import { appendText, rawStreams } from './raw-append.ts'

const { answers, client, store, stream, append } = contractStore()
let raw: StreamsClient | undefined

beforeAll(() => {
  raw = rawStreams(store().url)
})
afterAll(() => raw?.close())

async function setText(name: string, text: string): Promise<void> {
  if (raw === undefined) throw new Error('no client yet')
  await appendText(raw, `$$${name}`, text)
}

/** The bytes of a stream's metadata, without spaces. */
async function textOf(name: string): Promise<string> {
  const reader = new ByteClient(store().url)
  const last = await reader.last(`$$${name}`)
  await reader.dispose()
  return Buffer.from(last?.data ?? [])
    .toString('utf8')
    .replaceAll(/\s/g, '')
}

/** The readable ones of six events under this metadata. */
async function readUnder(text: string): Promise<number[]> {
  const name = stream()
  await append(name, 6)
  await setText(name, text)
  return revisions(client().readStream(name))
}

const ALL = [0, 1, 2, 3, 4, 5]

describe('all metadata of a stream is void', () => {
  test.each([
    '{"$maxCount":2.0}',
    '{"$maxCount":2e0}',
    '{"$maxCount":"2"}',
    '{"$maxCount":null}',
    '{"$maxCount":2,"$tb":9223372036854775808}',
    '{"$maxCount":2,"$tmp":1}',
    '{"$maxCount":2,"$tmp":null}',
    '{"$maxCount":2,"$cacheControl":"x"}',
    '{"$maxCount":2,"$cacheControl":1.5}',
    '{"$maxCount":2,"$maxAge":922337203686}',
    '{"$maxCount":2',
    '[{"$maxCount":2}]',
    '',
  ])('with a wrong value: %s', async (text) => {
    expect(await readUnder(text)).toEqual(ALL)
  })

  test.each(['1', 'null', '{"$r":[1]}', '{"$r":null}', '{"$x":"a"}', '["$r"]'])(
    'with an access list of the wrong shape: %s',
    async (acl) => {
      expect(await readUnder(`{"$maxCount":2,"$acl":${acl}}`)).toEqual(ALL)
    },
  )
})

describe('metadata takes effect', () => {
  test.each([
    '{"$maxCount":2}',
    ' { "$maxCount" : 2 } ',
    '\uFEFF{"$maxCount":2}',
    '{"$maxCount":2,"$tmp":true}',
    '{"$maxCount":2,"$cacheControl":0}',
    '{"$maxCount":2,"$maxAge":0}',
    '{"$maxCount":2,"$maxAge":-5}',
    '{"$maxCount":2,"$tb":-1}',
    '{"$maxCount":5,"$maxCount":2}',
    '{"$maxCount":2,"x":{"$maxCount":1}}',
    '{"$maxCount":2,"$maxcount":1}',
    '{"$maxCount":2,"$acl":{}}',
    '{"$maxCount":2,"$acl":{"$r":"a","$mw":["b","c"]}}',
    '{"$maxCount":5,"$tb":4}',
  ])('beside unrelated members: %s', async (text) => {
    expect(await readUnder(text)).toEqual([4, 5])
  })

  test.each(['{"$maxCount":0}', '{"$maxCount":-1}', '{"$maxCount":9223372036854775807}'])(
    'a count without a limit keeps all events: %s',
    async (text) => {
      expect(await readUnder(text)).toEqual(ALL)
    },
  )

  test('a truncation beyond every revision empties the stream; only 2^63 - 1 deletes it', async () => {
    for (const tb of ['9007199254740991', '9007199254740993', '9223372036854775806'])
      expect(await readUnder(`{"$tb":${tb}}`)).toEqual([])
    expect((await failure(readUnder('{"$tb":9223372036854775807}'))).type).toBe('stream-not-found')
  })

  test('with any event type, but only as JSON', async () => {
    const [other, bytes] = [stream(), stream()]
    await append(other, 3)
    await append(bytes, 3)
    await client().appendToStream(`$$${other}`, jsonEvent({ type: 'Other', data: { $maxCount: 1 } }))
    await client().appendToStream(`$$${bytes}`, {
      ...counted(0),
      contentType: 'application/octet-stream',
      type: '$metadata',
      data: Buffer.from('{"$maxCount":1}'),
    })
    expect(await revisions(client().readStream(other))).toEqual([2])
    expect(await revisions(client().readStream(bytes))).toEqual([0, 1, 2])
  })
})

test('metadata of a deleted stream revives it and keeps its other members, with all digits of an integer', async () => {
  const name = stream()
  await append(name, 2)
  await client().deleteStream(name)
  await setText(name, '{"owner":12345678901234567890,"of":[9007199254740993,"x"]}')
  expect(await textOf(name)).toBe('{"owner":12345678901234567890,"of":[9007199254740993,"x"],"$tb":2}')
})

test('returns access list and cache control, with single roles and with lists', async () => {
  const name = stream()
  await append(name, 1)
  const metadata = {
    cacheControl: 15,
    acl: {
      readRoles: ['a', 'b'],
      writeRoles: ['$all'],
      deleteRoles: ['c'],
      metaReadRoles: ['d'],
      metaWriteRoles: ['e'],
    },
  }
  await client().setStreamMetadata(name, metadata)
  expect((await client().getStreamMetadata(name)).metadata).toEqual(metadata)
})

test('one read combines maxCount, truncateBefore and a start', async () => {
  const name = stream()
  await append(name, 10)
  await client().setStreamMetadata(name, { truncateBefore: 5, maxCount: 4 })
  expect(await revisions(client().readStream(name, { maxCount: 3 }))).toEqual([6, 7, 8])
  expect(await revisions(client().readStream(name, { fromRevision: 7n }))).toEqual([7, 8, 9])
  expect(await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: 100n, maxCount: 9 }))).toEqual(
    [9, 8, 7, 6],
  )
  expect(await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: 5n }))).toEqual([])
  expect(
    (await collect(client().readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 500 }))).filter(
      ({ event }) => event?.streamId === name,
    ),
  ).toHaveLength(10)
})

describe('a live subscription receives appended events that metadata hides from readers', () => {
  async function liveOn(name: string, count: number, act: () => Promise<unknown>): Promise<(bigint | undefined)[]> {
    const subscription = client().subscribeToStream(name)
    const seen = takeUntil(subscription, (events) => events.length === count)
    await emitted(subscription, 'caughtUp')
    await act()
    return (await seen).map(({ event }) => event?.revision)
  }

  test('five events at once in a stream that keeps one', async () => {
    const name = stream()
    await append(name, 3)
    await client().setStreamMetadata(name, { maxCount: 1 })
    expect(await liveOn(name, 6, () => append(name, 5, { first: 3 }))).toEqual([2n, 3n, 4n, 5n, 6n, 7n])
  })

  test('events below the truncation', async () => {
    const name = stream()
    await append(name, 2)
    await client().setStreamMetadata(name, { truncateBefore: 10 })
    expect(await liveOn(name, 3, () => append(name, 3, { first: 2 }))).toEqual([2n, 3n, 4n])
  })

  test('every change of metadata, although the stream keeps the newest', async () => {
    const name = stream()
    await client().setStreamMetadata(name, { maxCount: 1 })
    await client().setStreamMetadata(name, { maxCount: 2 })
    const change = async (): Promise<void> => {
      for (const maxCount of [3, 4, 5]) await client().setStreamMetadata(name, { maxCount })
    }
    expect(await liveOn(`$$${name}`, 4, change)).toEqual([1n, 2n, 3n, 4n])
  })
})

describe('a subscription to a deleted stream', () => {
  test('soft-deleted: waits for new events and begins with them', async () => {
    const name = stream()
    await append(name, 3)
    await client().deleteStream(name)
    await expect.poll(async () => (await failure(collect(client().readStream(name)))).type).toBe('stream-not-found')
    const subscription = client().subscribeToStream(name)
    const seen = takeUntil(subscription, (events) => events.length === 2)
    await emitted(subscription, 'confirmation')
    await append(name, 2, { first: 3 })
    expect((await seen).map(({ event }) => event?.revision)).toEqual([3n, 4n])
  })

  test('soft-deleted: catches up once new metadata makes the stream readable', async () => {
    const name = stream()
    await append(name, 3)
    await client().deleteStream(name)
    await expect.poll(async () => (await failure(collect(client().readStream(name)))).type).toBe('stream-not-found')
    const subscription = client().subscribeToStream(name)
    const done = emitted(subscription, 'caughtUp')
    subscription.resume()
    await emitted(subscription, 'confirmation')
    await client().setStreamMetadata(name, { maxCount: 10 })
    await done
    await subscription.unsubscribe()
    expect(await revisions(client().readStream(name))).toEqual([])
  })

  test('tombstoned: an error without a confirmation; nothing or the same error when it starts from the end', async () => {
    const name = stream()
    await append(name, 2)
    await client().tombstoneStream(name)
    const received: string[] = []
    const early = client().subscribeToStream(name)
    early.on('confirmation', () => received.push('confirmed'))
    expect((await failure(collect(early))).type).toBe('stream-deleted')
    expect(received).toEqual([])
    const late = client().subscribeToStream(name, { fromRevision: END })
    const caughtUp = new Promise<'caught up'>((resolve) => late.on('caughtUp', () => resolve('caught up')))
    const refused = new Promise<unknown>((resolve) => late.on('error', resolve))
    late.on('error', (error) => received.push(error.message))
    late.resume()
    const failed = failure(refused.then((error) => Promise.reject(error))).then(({ type }) => type)
    expect(await Promise.race([caughtUp, failed])).toBeOneOf(answers('caught up', 'stream-deleted'))
    if (received.length > 0) return
    await append(stream(), 1)
    await late.unsubscribe()
    expect(received).toEqual([])
  })
})

describe('streams whose names begin with $', () => {
  test.each(['$streams', '$ce-x', '$et-X', '$settings-x', '$x', '$$$x'])(
    '%s is written and read like an ordinary stream',
    async (prefix) => {
      const name = stream(prefix)
      await append(name, 2)
      const expected = name.startsWith('$$') ? [1] : [0, 1]
      expect(await revisions(client().readStream(name))).toEqual(expected)
    },
  )

  test("$mem-: accepts a client's events and never returns them", async () => {
    const name = stream('$mem-x')
    expect((await client().appendToStream(name, counted(0))).success).toBe(true)
    expect((await failure(collect(client().readStream(name)))).type).toBe('stream-not-found')
  })

  test('the metadata of a metadata stream has no effect', async () => {
    const name = stream()
    await append(name, 3)
    await client().setStreamMetadata(name, { maxCount: 2 })
    await client().setStreamMetadata(name, { maxCount: 1 })
    await setText(`$$${name}`, '{"$maxCount":10,"$tb":9}')
    expect(await revisions(client().readStream(name))).toEqual([2])
    expect(await revisions(client().readStream(`$$${name}`))).toEqual([1])
    expect(await revisions(client().readStream(`$$$$${name}`))).toEqual([0])
  })

  test('a delete of a metadata stream has no effect; a tombstone ends the effect of its metadata', async () => {
    const [deleted, ended] = [stream(), stream()]
    for (const name of [deleted, ended]) {
      await append(name, 2)
      await client().setStreamMetadata(name, { maxCount: 1 })
    }
    await client().deleteStream(`$$${deleted}`)
    expect(await revisions(client().readStream(deleted))).toEqual([1])
    expect((await client().getStreamMetadata(deleted)).metadata).toEqual({ maxCount: 1 })
    await client().tombstoneStream(`$$${ended}`)
    expect((await failure(client().setStreamMetadata(ended, { maxCount: 2 }))).type).toBe('stream-deleted')
    expect((await failure(collect(client().readStream(`$$${ended}`)))).type).toBe('stream-deleted')
    await append(ended, 1, { first: 2 })
    expect(await revisions(client().readStream(ended))).toEqual([0, 1, 2])
  })
})

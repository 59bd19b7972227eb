import { BACKWARDS, END, jsonEvent } from '@eventstore/db-client'
import { expect, test } from 'vitest'
import { collect, contractStore, counted, failure, revisions, takeUntil } from './contract-store.ts'

const { client, stream, append } = contractStore()

test('returns metadata as written, including custom keys', async () => {
  const name = stream()
  await append(name, 1)
  await client().setStreamMetadata(name, {
    maxCount: 7,
    maxAge: 3600,
    truncateBefore: 1,
    cacheControl: 30,
    acl: { readRoles: ['$all'] },
    owner: { team: 'x' },
  })
  const { metadata, streamName } = await client().getStreamMetadata(name)
  expect(streamName).toBe(name)
  expect(metadata).toEqual({
    maxCount: 7,
    maxAge: 3600,
    truncateBefore: 1,
    cacheControl: 30,
    acl: { readRoles: ['$all'] },
    owner: { team: 'x' },
  })
})

test('a stream without metadata has none', async () => {
  const name = stream()
  await append(name, 1)
  expect((await client().getStreamMetadata(name)).metadata).toBeUndefined()
})

test('checks the expected revision of metadata', async () => {
  const name = stream()
  await client().setStreamMetadata(name, { maxCount: 1 }, { expectedRevision: 'no_stream' })
  const error = await failure(client().setStreamMetadata(name, { maxCount: 2 }, { expectedRevision: 'no_stream' }))
  expect(error).toMatchObject({ type: 'wrong-expected-version', actualVersion: 0n })
  await client().setStreamMetadata(name, { maxCount: 2 }, { expectedRevision: 0n })
  expect((await client().getStreamMetadata(name)).metadata).toEqual({ maxCount: 2 })
})

test('a metadata stream keeps only its newest event', async () => {
  const name = stream()
  for (const maxCount of [1, 2, 3]) await client().setStreamMetadata(name, { maxCount })
  expect(await revisions(client().readStream(`$$${name}`))).toEqual([2])
  expect(await revisions(client().readStream(`$$${name}`, { direction: BACKWARDS, fromRevision: END }))).toEqual([2])
})

test('maxCount keeps the newest events, in both directions', async () => {
  const name = stream()
  await append(name, 6)
  await client().setStreamMetadata(name, { maxCount: 2 })
  expect(await revisions(client().readStream(name))).toEqual([4, 5])
  expect(await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: END }))).toEqual([5, 4])
  await append(name, 1, { first: 6 })
  expect(await revisions(client().readStream(name))).toEqual([5, 6])
  expect(await revisions(client().readStream(name, { fromRevision: 2n, maxCount: 10 }))).toEqual([5, 6])
  expect(await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: 3n }))).toEqual([])
})

test('truncateBefore removes earlier revisions, in both directions', async () => {
  const name = stream()
  await append(name, 6)
  await client().setStreamMetadata(name, { truncateBefore: 4 })
  expect(await revisions(client().readStream(name))).toEqual([4, 5])
  expect(await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: END }))).toEqual([5, 4])
})

test('truncateBefore beyond the end leaves an existing, empty stream', async () => {
  const name = stream()
  await append(name, 3)
  await client().setStreamMetadata(name, { truncateBefore: 10 })
  expect(await revisions(client().readStream(name))).toEqual([])
  expect((await client().appendToStream(name, counted(3), { expectedRevision: 2n })).nextExpectedRevision).toBe(3n)
})

test('maxAge removes older events from reads', async () => {
  const name = stream()
  await append(name, 3)
  await client().setStreamMetadata(name, { maxAge: 1 })
  await expect.poll(() => revisions(client().readStream(name)), { timeout: 20_000 }).toEqual([])
  await append(name, 1, { first: 3 })
  expect(await revisions(client().readStream(name))).toEqual([3])
  expect(await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: END }))).toEqual([3])
})

test('new metadata replaces all old metadata', async () => {
  const name = stream()
  await append(name, 6)
  await client().setStreamMetadata(name, { maxCount: 1 })
  await client().setStreamMetadata(name, { truncateBefore: 2 })
  expect((await client().getStreamMetadata(name)).metadata).toEqual({ truncateBefore: 2 })
  expect(await revisions(client().readStream(name))).toEqual([2, 3, 4, 5])
})

test('metadata can precede the first event', async () => {
  const name = stream()
  await client().setStreamMetadata(name, { maxCount: 1 })
  expect((await failure(collect(client().readStream(name)))).type).toBe('stream-not-found')
  await append(name, 3, { expectedRevision: 'no_stream' })
  expect(await revisions(client().readStream(name))).toEqual([2])
})

test('stream_exists accepts a stream that has only metadata', async () => {
  const name = stream()
  await client().setStreamMetadata(name, { maxCount: 10 })
  const result = await client().appendToStream(name, counted(0), { expectedRevision: 'stream_exists' })
  expect(result.nextExpectedRevision).toBe(0n)
})

test('metadata of a wrong shape is stored and has no effect', async () => {
  const name = stream()
  await append(name, 3)
  await client().appendToStream(`$$${name}`, jsonEvent({ type: '$metadata', data: { $maxCount: 'one' } }))
  expect(await revisions(client().readStream(name))).toEqual([0, 1, 2])
})

test('$all still contains events that a stream no longer returns', async () => {
  const name = stream()
  const first = await client().appendToStream(name, counted(0))
  await append(name, 3, { first: 1 })
  await client().setStreamMetadata(name, { maxCount: 1 })
  const events = await collect(client().readAll({ fromPosition: first.position ?? 'start', maxCount: 4 }))
  expect(events.map(({ event }) => event?.revision)).toEqual([0n, 1n, 2n, 3n])
})

test('a subscription to a stream begins with the events that its metadata leaves', async () => {
  const name = stream()
  await append(name, 6)
  await client().setStreamMetadata(name, { maxCount: 2 })
  const seen = await takeUntil(client().subscribeToStream(name), (events) => events.length === 2)
  expect(seen.map(({ event }) => event?.revision)).toEqual([4n, 5n])
})

import { setTimeout as sleep } from 'node:timers/promises'
import { BACKWARDS, END, binaryEvent } from '@eventstore/db-client'
import { describe, expect, test } from 'vitest'
import { isRealEventStore } from '../../testing/fresh-event-store.ts'
import { collect, contractStore, counted, emitted, failure, revisions } from './contract-store.ts'

const { client, stream, append } = contractStore()

/**
 * Right after a delete a real server's writer may still use the old metadata. In most cases that ends when readers see
 * the delete; on a busy machine it can last a moment longer.
 */
async function softDelete(name: string): Promise<void> {
  await client().deleteStream(name)
  await expect.poll(async () => (await failure(collect(client().readStream(name)))).type).toBe('stream-not-found')
  if (isRealEventStore) await sleep(500)
}

describe('soft delete', () => {
  test('a read reports stream not found, in both directions', async () => {
    const name = stream()
    await append(name, 3)
    const { position } = await client().deleteStream(name)
    expect(position?.commit).toBeGreaterThan(0n)
    expect((await failure(collect(client().readStream(name)))).type).toBe('stream-not-found')
    expect((await failure(collect(client().readStream(name, { direction: BACKWARDS, fromRevision: END })))).type).toBe(
      'stream-not-found',
    )
  })

  test('an append to no_stream succeeds and continues the revisions', async () => {
    const name = stream()
    await append(name, 3)
    await softDelete(name)
    const result = await client().appendToStream(name, [counted(3), counted(4)], { expectedRevision: 'no_stream' })
    expect(result.nextExpectedRevision).toBe(4n)
    expect(await revisions(client().readStream(name))).toEqual([3, 4])
    expect((await client().getStreamMetadata(name)).metadata).toEqual({ truncateBefore: 3 })
  })

  test.each([['any' as const], [2n]])('an append to %s continues the revisions', async (expectedRevision) => {
    const name = stream()
    await append(name, 3)
    await softDelete(name)
    expect((await client().appendToStream(name, counted(3), { expectedRevision })).nextExpectedRevision).toBe(3n)
    expect(await revisions(client().readStream(name))).toEqual([3])
  })

  test('an append to stream_exists reports a deleted stream', async () => {
    const name = stream()
    await append(name, 3)
    await softDelete(name)
    expect((await failure(client().appendToStream(name, counted(3), { expectedRevision: 'stream_exists' }))).type).toBe(
      'stream-deleted',
    )
  })

  test('checks the expected revision', async () => {
    const name = stream()
    await append(name, 3)
    const error = await failure(client().deleteStream(name, { expectedRevision: 1n }))
    expect(error).toMatchObject({
      type: 'wrong-expected-version',
      streamName: name,
      expectedVersion: 1n,
      actualVersion: 2n,
    })
    await client().deleteStream(name, { expectedRevision: 2n })
    expect((await failure(collect(client().readStream(name)))).type).toBe('stream-not-found')
  })

  test.each([['any' as const], ['no_stream' as const], [3n]])(
    'a delete of a missing stream with %s reports wrong expected version, actual -1',
    async (expectedRevision) => {
      const error = await failure(client().deleteStream(stream(), { expectedRevision }))
      expect(error).toMatchObject({ type: 'wrong-expected-version', actualVersion: -1n })
    },
  )

  test('a second delete is no error', async () => {
    const name = stream()
    await append(name, 1)
    await softDelete(name)
    await client().deleteStream(name)
    expect((await failure(collect(client().readStream(name)))).type).toBe('stream-not-found')
  })

  test('new metadata makes the stream readable again without the deleted events', async () => {
    const name = stream()
    await append(name, 3)
    await softDelete(name)
    await client().setStreamMetadata(name, { maxCount: 100 })
    expect(await revisions(client().readStream(name))).toEqual([])
    expect((await client().getStreamMetadata(name)).metadata).toEqual({ maxCount: 100, truncateBefore: 3 })
  })

  test('JSON metadata with another content type revives the stream too, without the deleted events', async () => {
    const name = stream()
    await append(name, 3)
    await softDelete(name)
    await client().appendToStream(
      `$$${name}`,
      binaryEvent({ type: '$metadata', data: Buffer.from('{"$maxCount":100,"owner":"x"}') }),
    )
    expect(await revisions(client().readStream(name))).toEqual([])
    expect((await client().getStreamMetadata(name)).metadata).toEqual({ maxCount: 100, owner: 'x', truncateBefore: 3 })
    await append(name, 1, { first: 3 })
    expect(await revisions(client().readStream(name))).toEqual([3])
  })

  test('metadata that is not JSON makes all events readable', async () => {
    const name = stream()
    await append(name, 3)
    await softDelete(name)
    await client().appendToStream(`$$${name}`, binaryEvent({ type: '$metadata', data: Buffer.from('{"$maxCount"') }))
    expect(await revisions(client().readStream(name))).toEqual([0, 1, 2])
  })

  test('a delete replaces all other metadata', async () => {
    const name = stream()
    await append(name, 2)
    await client().setStreamMetadata(name, { maxCount: 5, owner: 'x' })
    await softDelete(name)
    await append(name, 1, { first: 2 })
    expect((await client().getStreamMetadata(name)).metadata).toEqual({ truncateBefore: 2 })
  })

  test('$all still contains the events and the delete', async () => {
    const name = stream()
    const first = await client().appendToStream(name, [counted(0), counted(1)])
    await client().deleteStream(name)
    const events = await collect(client().readAll({ fromPosition: first.position ?? 'start', maxCount: 2 }))
    expect(events.map(({ event }) => [event?.streamId, event?.type])).toEqual([
      [name, 'Counted'],
      [`$$${name}`, '$metadata'],
    ])
  })
})

describe('tombstone', () => {
  test('refuses read, append, delete and tombstone permanently', async () => {
    const name = stream()
    await append(name, 2)
    await client().tombstoneStream(name)
    expect(await failure(collect(client().readStream(name)))).toMatchObject({
      type: 'stream-deleted',
      streamName: name,
    })
    expect((await failure(collect(client().readStream(name, { direction: BACKWARDS, fromRevision: END })))).type).toBe(
      'stream-deleted',
    )
    expect((await failure(client().appendToStream(name, counted(2)))).type).toBe('stream-deleted')
    expect((await failure(client().appendToStream(name, counted(2), { expectedRevision: 'no_stream' }))).type).toBe(
      'stream-deleted',
    )
    expect((await failure(client().deleteStream(name))).type).toBe('stream-deleted')
    expect((await failure(client().tombstoneStream(name))).type).toBe('stream-deleted')
  })

  test('deletes the metadata too', async () => {
    const name = stream()
    await append(name, 1)
    await client().setStreamMetadata(name, { maxCount: 3 })
    await client().tombstoneStream(name)
    expect((await failure(client().getStreamMetadata(name))).type).toBe('stream-deleted')
  })

  test('checks the expected revision', async () => {
    const name = stream()
    await append(name, 2)
    const error = await failure(client().tombstoneStream(name, { expectedRevision: 0n }))
    expect(error).toMatchObject({ type: 'wrong-expected-version', expectedVersion: 0n, actualVersion: 1n })
  })

  test('on a missing stream: the stream can never be written', async () => {
    const name = stream()
    await client().tombstoneStream(name, { expectedRevision: 'no_stream' })
    expect((await failure(client().appendToStream(name, counted(0)))).type).toBe('stream-deleted')
  })

  test('works on a soft-deleted stream', async () => {
    const name = stream()
    await append(name, 2)
    await softDelete(name)
    await client().tombstoneStream(name)
    expect((await failure(collect(client().readStream(name)))).type).toBe('stream-deleted')
  })

  test('is the last event of the stream in $all', async () => {
    const name = stream()
    const last = await client().appendToStream(name, counted(0))
    await client().tombstoneStream(name)
    const [, event] = await collect(client().readAll({ fromPosition: last.position ?? 'start', maxCount: 2 }))
    expect(event?.event).toMatchObject({
      streamId: name,
      type: '$streamDeleted',
      revision: 9223372036854775807n,
      isJson: false,
    })
  })

  test('a live subscription to the stream receives it and ends with stream deleted', async () => {
    const name = stream()
    await append(name, 1)
    const subscription = client().subscribeToStream(name)
    const seen: unknown[] = []
    const ended = new Promise<unknown>((resolve) => {
      subscription.on('error', resolve).on('data', ({ event }) => seen.push(event?.type))
    })
    await emitted(subscription, 'caughtUp')
    await client().tombstoneStream(name)
    expect(await ended).toMatchObject({ type: 'stream-deleted' })
    expect(seen).toEqual(['Counted', '$streamDeleted'])
  })

  test('a later subscription ends immediately', async () => {
    const name = stream()
    await append(name, 1)
    await client().tombstoneStream(name)
    expect((await failure(collect(client().subscribeToStream(name)))).type).toBe('stream-deleted')
  })
})

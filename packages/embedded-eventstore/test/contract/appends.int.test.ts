import { randomUUID } from 'node:crypto'
import { binaryEvent, jsonEvent } from '@eventstore/db-client'
import { describe, expect, test } from 'vitest'
import { collect, contractStore, counted, failure, outcome, revisions } from './contract-store.ts'

const { answers, client, stream, append } = contractStore()

describe('expected revision', () => {
  test('no_stream: the first append succeeds with the revision of its last event', async () => {
    const name = stream()
    const result = await client().appendToStream(name, [counted(0), counted(1)], { expectedRevision: 'no_stream' })
    expect(result).toMatchObject({ success: true, nextExpectedRevision: 1n })
    expect(result.position?.commit).toBe(result.position?.prepare)
  })

  test('no_stream on an existing stream: wrong expected version with the actual head', async () => {
    const name = stream()
    await append(name, 3)
    const error = await failure(client().appendToStream(name, counted(9), { expectedRevision: 'no_stream' }))
    expect(error).toMatchObject({
      type: 'wrong-expected-version',
      streamName: name,
      expectedVersion: 'no_stream',
      actualVersion: 2n,
    })
  })

  test('the exact head: the append succeeds', async () => {
    const name = stream()
    await append(name, 2)
    const result = await client().appendToStream(name, counted(2), { expectedRevision: 1n })
    expect(result.nextExpectedRevision).toBe(2n)
  })

  test.each([0n, 5n])('revision %s when the head is 1: wrong expected version', async (expectedRevision) => {
    const name = stream()
    await append(name, 2)
    const error = await failure(client().appendToStream(name, counted(2), { expectedRevision }))
    expect(error).toMatchObject({
      type: 'wrong-expected-version',
      expectedVersion: expectedRevision,
      actualVersion: 1n,
    })
  })

  test('a revision of a missing stream: wrong expected version, actual no_stream', async () => {
    const error = await failure(client().appendToStream(stream(), counted(0), { expectedRevision: 0n }))
    expect(error).toMatchObject({ type: 'wrong-expected-version', actualVersion: 'no_stream' })
  })

  test('stream_exists: refused for a missing stream, accepted for an existing one', async () => {
    const name = stream()
    const error = await failure(client().appendToStream(name, counted(0), { expectedRevision: 'stream_exists' }))
    expect(error).toMatchObject({
      type: 'wrong-expected-version',
      expectedVersion: 'stream_exists',
      actualVersion: 'no_stream',
    })
    await append(name, 1)
    const result = await client().appendToStream(name, counted(1), { expectedRevision: 'stream_exists' })
    expect(result.nextExpectedRevision).toBe(1n)
  })

  test('any: accepted for a missing and for an existing stream', async () => {
    const name = stream()
    await append(name, 1, { expectedRevision: 'any' })
    const result = await client().appendToStream(name, counted(1), { expectedRevision: 'any' })
    expect(result.nextExpectedRevision).toBe(1n)
  })

  test('no_stream, fifty concurrent appends: one succeeds', async () => {
    const name = stream()
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, n) =>
        client().appendToStream(name, counted(n), { expectedRevision: 'no_stream' }),
      ),
    )
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(refused).toHaveLength(49)
    expect(refused.every(({ reason }) => reason.type === 'wrong-expected-version')).toBe(true)
    expect(await revisions(client().readStream(name))).toEqual([0])
  })

  test('concurrent appends to one stream get revisions without gaps and rising positions', async () => {
    const name = stream()
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        client().appendToStream(name, [counted(n), counted(n)], { expectedRevision: 'any' }),
      ),
    )
    const byRevision = results.toSorted((a, b) => Number(a.nextExpectedRevision - b.nextExpectedRevision))
    expect(byRevision.map((result) => Number(result.nextExpectedRevision))).toEqual(
      Array.from({ length: 40 }, (_, n) => 2 * n + 1),
    )
    const positions = byRevision.map((result) => result.position?.commit ?? 0n)
    expect(positions).toEqual(positions.toSorted((a, b) => (a < b ? -1 : 1)))
    expect(await revisions(client().readStream(name))).toEqual(Array.from({ length: 80 }, (_, n) => n))
  })
})

describe('an append without events', () => {
  test('to any revision of an existing stream: success with the head', async () => {
    const name = stream()
    await append(name, 3)
    const result = await client().appendToStream(name, [], { expectedRevision: 'any' })
    expect(result).toMatchObject({ success: true, nextExpectedRevision: 2n })
  })

  test('to no_stream on an existing stream: wrong expected version', async () => {
    const name = stream()
    await append(name, 3)
    const error = await failure(client().appendToStream(name, [], { expectedRevision: 'no_stream' }))
    expect(error).toMatchObject({ type: 'wrong-expected-version', actualVersion: 2n })
  })

  test('to the head: success without a write', async () => {
    const name = stream()
    await append(name, 2)
    const result = await client().appendToStream(name, [], { expectedRevision: 1n })
    expect(result.nextExpectedRevision).toBe(1n)
    expect(await revisions(client().readStream(name))).toEqual([0, 1])
  })
})

describe('a read returns', () => {
  test('id, type, data, metadata and creation time of a JSON event', async () => {
    const name = stream()
    const id = randomUUID()
    const before = Date.now()
    await client().appendToStream(
      name,
      jsonEvent({ id, type: 'Größe', data: { text: 'naïve 漢字 🙂', list: [1, 2] }, metadata: { by: 'x' } }),
    )
    const [read] = await collect(client().readStream(name))
    expect(read?.event).toMatchObject({
      id,
      type: 'Größe',
      streamId: name,
      revision: 0n,
      isJson: true,
      data: { text: 'naïve 漢字 🙂', list: [1, 2] },
      metadata: { by: 'x' },
    })
    expect(Math.abs((read?.event?.created.getTime() ?? 0) - before)).toBeLessThan(60_000)
  })

  test('the bytes of a binary event with binary metadata', async () => {
    const name = stream()
    const data = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    await client().appendToStream(name, binaryEvent({ type: 'Bytes', data, metadata: Uint8Array.from([255, 0, 1]) }))
    const [read] = await collect(client().readStream(name))
    expect(read?.event?.isJson).toBe(false)
    expect(Buffer.from(read?.event?.data as Uint8Array)).toEqual(Buffer.from(data))
    expect(Buffer.from(read?.event?.metadata as Uint8Array)).toEqual(Buffer.from([255, 0, 1]))
  })

  test('an event without data or metadata', async () => {
    const name = stream()
    await client().appendToStream(name, binaryEvent({ type: 'Empty', data: new Uint8Array() }))
    const [read] = await collect(client().readStream(name))
    expect(read?.event).toMatchObject({ type: 'Empty', isJson: false, metadata: undefined })
    expect(read?.event?.data).toHaveLength(0)
  })

  test('a stream with a name outside ASCII', async () => {
    const name = stream('größe-漢')
    await append(name, 2)
    expect(await revisions(client().readStream(name))).toEqual([0, 1])
    const error = await failure(client().appendToStream(name, counted(0), { expectedRevision: 'no_stream' }))
    expect(error).toMatchObject({ type: 'wrong-expected-version', streamName: name })
  })

  test('the events of one append with rising positions and equal commit and prepare positions', async () => {
    const name = stream()
    const result = await client().appendToStream(name, [counted(0), counted(1), counted(2)])
    const until = result.position ?? { commit: 0n, prepare: 0n }
    const events = await collect(client().readAll({ direction: 'forwards', fromPosition: until, maxCount: 1 }))
    expect(events[0]?.event).toMatchObject({ streamId: name, revision: 2n, position: until })
    const before = await collect(client().readAll({ direction: 'backwards', fromPosition: until, maxCount: 2 }))
    expect(before.map(({ event }) => event?.revision)).toEqual([1n, 0n])
    expect(before[0]?.event?.position?.commit).toBeLessThan(until.commit)
    expect(before[1]?.event?.position?.commit).toBeLessThan(before[0]?.event?.position?.commit ?? 0n)
    expect(before.every(({ event }) => event?.position?.commit === event?.position?.prepare)).toBe(true)
  })
})

describe('append size', () => {
  const ofBytes = (length: number) => binaryEvent({ type: 'Large', data: new Uint8Array(length) })

  test('one event of 1 MiB and one byte: maximum append size exceeded, unless the line accepts more', async () => {
    const answer = await client()
      .appendToStream(stream(), ofBytes((1 << 20) + 1))
      .then(
        () => 'accepted',
        ({ type, maxAppendSize }) => ({ type, maxAppendSize }),
      )
    expect(answers({ type: 'maximum-append-size-exceeded', maxAppendSize: 1 << 20 }, 'accepted')).toContainEqual(answer)
  })

  test('several events with a larger sum: all are refused, or all accepted', async () => {
    const name = stream()
    const answer = await outcome(client().appendToStream(name, [ofBytes(600_000), ofBytes(600_000)]))
    const read = await outcome(collect(client().readStream(name)))
    expect(answers(['maximum-append-size-exceeded', 'stream-not-found'], ['success', 'success'])).toContainEqual([
      answer,
      read,
    ])
  })

  test('a large append in several messages is one append', async () => {
    const name = stream()
    const events = Array.from({ length: 60 }, () => ofBytes(15_000))
    const result = await client().appendToStream(name, events, {
      batchAppendSize: 100_000,
      expectedRevision: 'no_stream',
    })
    expect(result.nextExpectedRevision).toBe(59n)
    expect(await revisions(client().readStream(name))).toHaveLength(60)
  })

  test('just below 1 MiB: accepted and read back', async () => {
    const name = stream()
    await client().appendToStream(name, ofBytes((1 << 20) - 1000))
    const [read] = await collect(client().readStream(name))
    expect(read?.event?.data).toHaveLength((1 << 20) - 1000)
  })
})

describe('the call for one append, used for appends with credentials', () => {
  const credentials = { username: 'admin', password: 'changeit' }

  test('success', async () => {
    const name = stream()
    const result = await client().appendToStream(name, [counted(0), counted(1)], {
      expectedRevision: 'no_stream',
      credentials,
    })
    expect(result).toMatchObject({ success: true, nextExpectedRevision: 1n })
  })

  test('conflict', async () => {
    const name = stream()
    await append(name, 2)
    const error = await failure(client().appendToStream(name, counted(0), { expectedRevision: 0n, credentials }))
    expect(error).toMatchObject({ type: 'wrong-expected-version', expectedVersion: 0n, actualVersion: 1n })
  })

  test('too large', async () => {
    const event = binaryEvent({ type: 'Large', data: new Uint8Array((1 << 20) + 1) })
    const error = await failure(client().appendToStream(stream(), event, { credentials }))
    expect(error).toMatchObject({ type: 'maximum-append-size-exceeded', maxAppendSize: 1 << 20 })
  })
})

test('refuses an empty stream name', async () => {
  const error = await failure(client().appendToStream('', counted(0)))
  expect(error.type).toBe('unknown')
})

import { jsonEvent } from '@eventstore/db-client'
import { describe, expect, test } from 'vitest'
import { contractStore, counted, failure, revisions } from './contract-store.ts'

const { client, stream, append } = contractStore()

test('a repeat with the original expected revision succeeds and writes nothing', async () => {
  const name = stream()
  const events = [counted(0), counted(1)]
  const first = await client().appendToStream(name, events, { expectedRevision: 'no_stream' })
  await append(name, 2, { first: 2 })
  const again = await client().appendToStream(name, events, { expectedRevision: 'no_stream' })
  expect(again).toMatchObject({ success: true, nextExpectedRevision: 1n, position: first.position })
  expect(await revisions(client().readStream(name))).toEqual([0, 1, 2, 3])
})

describe('a repeat of an unreadable event succeeds without a position and writes nothing', () => {
  const hidden: [string, (name: string) => Promise<unknown>][] = [
    ['truncateBefore', (name) => client().setStreamMetadata(name, { truncateBefore: 2 })],
    ['maxCount', (name) => client().setStreamMetadata(name, { maxCount: 1 })],
    ['a delete', (name) => client().deleteStream(name)],
  ]
  const calls: [string, { credentials?: { username: string; password: string } }][] = [
    ['batch', {}],
    // Credentials make the client use the call for one append.
    ['alone', { credentials: { username: 'admin', password: 'changeit' } }],
  ]

  describe.each(hidden)('hidden by %s', (_by, hide) => {
    test.each(calls)('%s, by revision and by id', async (_call, options) => {
      const name = stream()
      const events = [counted(0), counted(1)]
      await client().appendToStream(name, events, { expectedRevision: 'no_stream' })
      await append(name, 1, { first: 2 })
      await hide(name)
      const metadata = await revisions(client().readStream(`$$${name}`))
      for (const expectedRevision of ['no_stream', 'any'] as const) {
        const again = await client().appendToStream(name, events, { expectedRevision, ...options })
        expect(again).toMatchObject({ success: true, nextExpectedRevision: 1n })
        expect(again.position).toBeUndefined()
      }
      expect(await revisions(client().readStream(`$$${name}`))).toEqual(metadata)
    })
  })

  test('hidden by newer metadata', async () => {
    const metastream = `$$${stream()}`
    const event = jsonEvent({ type: '$metadata', data: { $maxCount: 5 } })
    const first = await client().appendToStream(metastream, event, { expectedRevision: 'no_stream' })
    expect(await client().appendToStream(metastream, event, { expectedRevision: 'no_stream' })).toMatchObject({
      position: first.position,
    })
    await append(metastream, 1)
    const again = await client().appendToStream(metastream, event, { expectedRevision: 'no_stream' })
    expect(again.nextExpectedRevision).toBe(0n)
    expect(again.position).toBeUndefined()
  })
})

test('a repeat of a single event from a revision in the middle succeeds', async () => {
  const name = stream()
  await append(name, 2)
  const event = counted(2)
  await client().appendToStream(name, event, { expectedRevision: 1n })
  await append(name, 1, { first: 3 })
  const again = await client().appendToStream(name, event, { expectedRevision: 1n })
  expect(again.nextExpectedRevision).toBe(2n)
  expect(await revisions(client().readStream(name))).toEqual([0, 1, 2, 3])
})

test('a known id before a new one: wrong expected version', async () => {
  const name = stream()
  const [known] = await append(name, 1, { expectedRevision: 'no_stream' })
  if (known === undefined) throw new Error('nothing was appended')
  const error = await failure(client().appendToStream(name, [known, counted(1)], { expectedRevision: 'no_stream' }))
  expect(error).toMatchObject({ type: 'wrong-expected-version', actualVersion: 0n })
})

test('a new id before a known one: wrong expected version', async () => {
  const name = stream()
  const [known] = await append(name, 1, { expectedRevision: 'no_stream' })
  if (known === undefined) throw new Error('nothing was appended')
  const error = await failure(client().appendToStream(name, [counted(1), known], { expectedRevision: 'no_stream' }))
  expect(error.type).toBe('wrong-expected-version')
})

test('a known id with the head as expected revision is written again', async () => {
  const name = stream()
  const [event] = await append(name, 1, { expectedRevision: 'no_stream' })
  if (event === undefined) throw new Error('nothing was appended')
  const again = await client().appendToStream(name, event, { expectedRevision: 0n })
  expect(again.nextExpectedRevision).toBe(1n)
  expect(await revisions(client().readStream(name))).toEqual([0, 1])
})

test('a known id with any, shortly after: the original revision, nothing written', async () => {
  const name = stream()
  const events = await append(name, 2, { expectedRevision: 'any' })
  await append(name, 1, { first: 2 })
  const again = await client().appendToStream(name, events, { expectedRevision: 'any' })
  expect(again.nextExpectedRevision).toBe(1n)
  expect(await revisions(client().readStream(name))).toEqual([0, 1, 2])
})

test('a known id with stream_exists, shortly after: the original revision, nothing written', async () => {
  const name = stream()
  const events = await append(name, 2)
  const again = await client().appendToStream(name, events, { expectedRevision: 'stream_exists' })
  expect(again.nextExpectedRevision).toBe(1n)
  expect(await revisions(client().readStream(name))).toEqual([0, 1])
})

test('a known and a new id with any: wrong expected version', async () => {
  const name = stream()
  const [known] = await append(name, 1)
  if (known === undefined) throw new Error('nothing was appended')
  const error = await failure(client().appendToStream(name, [known, counted(1)], { expectedRevision: 'any' }))
  expect(error.type).toBe('wrong-expected-version')
})

test('one id twice in one append: both events are written', async () => {
  const name = stream()
  const event = counted(0)
  const result = await client().appendToStream(name, [event, event], { expectedRevision: 'no_stream' })
  expect(result.nextExpectedRevision).toBe(1n)
  expect(await revisions(client().readStream(name))).toEqual([0, 1])
})

test('an id of another stream counts as new', async () => {
  const [event] = await append(stream(), 1)
  if (event === undefined) throw new Error('nothing was appended')
  const name = stream()
  const result = await client().appendToStream(name, event, { expectedRevision: 'any' })
  expect(result.nextExpectedRevision).toBe(0n)
})

test('of an id in two streams, the first stream counts', async () => {
  const [event] = await append(stream(), 1)
  if (event === undefined) throw new Error('nothing was appended')
  const name = stream()
  expect((await client().appendToStream(name, event, { expectedRevision: 'any' })).nextExpectedRevision).toBe(0n)
  expect((await client().appendToStream(name, event, { expectedRevision: 'any' })).nextExpectedRevision).toBe(1n)
})

test('concurrent retries and their original leave one set of events', async () => {
  const name = stream()
  const events = [counted(0), counted(1)]
  const outcomes = await Promise.allSettled(
    [1, 2, 3].map(() => client().appendToStream(name, events, { expectedRevision: 'no_stream' })),
  )
  // The server lets a retry time out that arrives before its original is written. The client must then try again.
  const answers = outcomes.map((outcome) =>
    outcome.status === 'fulfilled' ? outcome.value.nextExpectedRevision : outcome.reason.type,
  )
  expect(answers).toContain(1n)
  expect(answers.every((value) => value === 1n || value === 'deadline-exceeded')).toBe(true)
  expect(await revisions(client().readStream(name))).toEqual([0, 1])
})

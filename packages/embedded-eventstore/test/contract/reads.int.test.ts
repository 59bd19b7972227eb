import { FORWARDS, BACKWARDS, START, END } from '@eventstore/db-client'
import { describe, expect, test } from 'vitest'
import { collect, contractStore, counted, failure, revisions } from './contract-store.ts'

const { client, stream, append } = contractStore()

describe('a read of a stream', () => {
  test('forwards from the start, and from a revision', async () => {
    const name = stream()
    await append(name, 5)
    expect(await revisions(client().readStream(name))).toEqual([0, 1, 2, 3, 4])
    expect(await revisions(client().readStream(name, { fromRevision: 3n }))).toEqual([3, 4])
  })

  test('backwards from the end, from a revision and from the start', async () => {
    const name = stream()
    await append(name, 5)
    expect(await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: END }))).toEqual([
      4, 3, 2, 1, 0,
    ])
    expect(await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: 2n }))).toEqual([2, 1, 0])
    expect(await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: START }))).toEqual([0])
  })

  test('returns at most the requested number of events', async () => {
    const name = stream()
    await append(name, 10)
    expect(await revisions(client().readStream(name, { maxCount: 3 }))).toEqual([0, 1, 2])
    expect(
      await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: END, maxCount: 3 })),
    ).toEqual([9, 8, 7])
    expect(await revisions(client().readStream(name, { fromRevision: 8n, maxCount: 30 }))).toEqual([8, 9])
  })

  test('from inside an append of several events', async () => {
    const name = stream()
    await append(name, 4)
    await append(name, 4, { first: 4 })
    expect(await revisions(client().readStream(name, { fromRevision: 2n, maxCount: 4 }))).toEqual([2, 3, 4, 5])
    expect(await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: 5n, maxCount: 4 }))).toEqual(
      [5, 4, 3, 2],
    )
  })

  test('from beyond the end: no events forwards, all events backwards', async () => {
    const name = stream()
    await append(name, 3)
    expect(await revisions(client().readStream(name, { fromRevision: 10n }))).toEqual([])
    expect(await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: 10n }))).toEqual([2, 1, 0])
  })

  test('of a missing stream: stream not found', async () => {
    const name = stream()
    expect(await failure(collect(client().readStream(name)))).toMatchObject({
      type: 'stream-not-found',
      streamName: name,
    })
    expect((await failure(collect(client().readStream(name, { direction: BACKWARDS, fromRevision: END })))).type).toBe(
      'stream-not-found',
    )
  })

  test('with a count of zero is an error', async () => {
    const name = stream()
    await append(name, 1)
    expect((await failure(collect(client().readStream(name, { maxCount: 0 })))).type).toBe('unknown')
  })

  test('forwards from the end is an error', async () => {
    const name = stream()
    await append(name, 1)
    expect((await failure(collect(client().readStream(name, { direction: FORWARDS, fromRevision: END })))).type).toBe(
      'unknown',
    )
  })

  test('returns 1,000 events in the order of their appends', async () => {
    const name = stream()
    for (let first = 0; first < 1000; first += 250) await append(name, 250, { first })
    const events = await collect(client().readStream(name))
    expect(events.map(({ event }) => event?.data)).toEqual(Array.from({ length: 1000 }, (_, n) => ({ n })))
    const backwards = await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: END }))
    expect(backwards).toEqual(Array.from({ length: 1000 }, (_, n) => 999 - n))
  })

  test("returns the position of an event's append", async () => {
    const name = stream()
    const { position } = await client().appendToStream(name, counted(0))
    const [read] = await collect(client().readStream(name))
    expect(read?.commitPosition).toBe(position?.commit)
    expect(read?.event?.position).toEqual(position)
  })

  test('returns appended events immediately', async () => {
    const name = stream()
    for (let n = 0; n < 20; n += 1) {
      await client().appendToStream(name, counted(n))
      expect(
        await revisions(client().readStream(name, { direction: BACKWARDS, fromRevision: END, maxCount: 1 })),
      ).toEqual([n])
    }
  })

  test('with an empty name is refused', async () => {
    expect((await failure(collect(client().readStream('')))).type).toBe('unknown')
  })
})

describe('a read of $all', () => {
  test('forwards from a position (inclusive)', async () => {
    const name = stream()
    const first = await client().appendToStream(name, counted(0))
    await append(name, 3, { first: 1 })
    const position = first.position ?? { commit: 0n, prepare: 0n }
    const events = await collect(client().readAll({ fromPosition: position, maxCount: 4 }))
    expect(events.map(({ event }) => [event?.streamId, event?.revision])).toEqual(
      [0n, 1n, 2n, 3n].map((revision) => [name, revision]),
    )
    expect(events[0]?.commitPosition).toBe(position.commit)
    expect(events[0]?.event?.position).toEqual(position)
  })

  test('backwards from a position (exclusive)', async () => {
    const name = stream()
    await append(name, 3)
    const last = await client().appendToStream(name, counted(3))
    const events = await collect(
      client().readAll({ direction: BACKWARDS, fromPosition: last.position ?? START, maxCount: 3 }),
    )
    expect(events.map(({ event }) => event?.revision)).toEqual([2n, 1n, 0n])
  })

  test('backwards from the end', async () => {
    const name = stream()
    await append(name, 3)
    const events = await collect(client().readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 3 }))
    expect(events.map(({ event }) => [event?.streamId, event?.revision])).toEqual(
      [2n, 1n, 0n].map((revision) => [name, revision]),
    )
  })

  test('from the start in rising order, and back in the same order', async () => {
    const names = [stream(), stream()]
    for (const name of [...names, ...names]) await append(name, 50)
    const forwards = (await collect(client().readAll())).map(({ event }) => event?.position?.commit ?? -1n)
    expect(forwards).toEqual(forwards.toSorted((a, b) => (a < b ? -1 : 1)))
    expect(new Set(forwards).size).toBe(forwards.length)
    const commit = forwards.at(-1) ?? 0n
    const backwards = await collect(
      client().readAll({ direction: BACKWARDS, fromPosition: { commit, prepare: commit } }),
    )
    expect(backwards.map(({ event }) => event?.position?.commit).toReversed()).toEqual(forwards.slice(0, -1))
  })

  test('forwards from the end, and backwards from the start: no events', async () => {
    await append(stream(), 1)
    expect(await collect(client().readAll({ fromPosition: END }))).toEqual([])
    expect(await collect(client().readAll({ direction: BACKWARDS, fromPosition: START }))).toEqual([])
  })

  test('from a position without an event is an error, in both directions', async () => {
    const { position } = await client().appendToStream(stream(), [counted(0), counted(1)])
    const between = { commit: (position?.commit ?? 0n) - 1n, prepare: (position?.prepare ?? 0n) - 1n }
    expect((await failure(collect(client().readAll({ fromPosition: between, maxCount: 1 })))).type).toBe('unknown')
    expect(
      (await failure(collect(client().readAll({ direction: BACKWARDS, fromPosition: between, maxCount: 1 })))).type,
    ).toBe('unknown')
    expect((await failure(collect(client().subscribeToAll({ fromPosition: between })))).type).toBe('unknown')
  })

  test('from far beyond the end: no events', async () => {
    expect(await collect(client().readAll({ fromPosition: { commit: 10n ** 15n, prepare: 10n ** 15n } }))).toEqual([])
  })
})

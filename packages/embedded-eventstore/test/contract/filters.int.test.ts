import {
  eventTypeFilter,
  excludeSystemEvents,
  streamNameFilter,
  type Filter,
  type Position,
} from '@eventstore/db-client'
import { describe, expect, test } from 'vitest'
import { contractStore, counted, emitted, failure, collect, takeUntil } from './contract-store.ts'

const { client, stream, append } = contractStore()
const unique = (): string => `f${Math.random().toString(36).slice(2)}`

/** Appends a mark and three kinds of events. Returns those that a filtered subscription from the mark receives. */
async function filtered(filter: (run: string) => Filter, count: number): Promise<string[]> {
  const run = unique()
  const { position } = await client().appendToStream(stream(), counted(0))
  for (const category of ['alpha', 'beta', 'gamma']) {
    await client().appendToStream(`${run}${category}-1`, [counted(1, `${run}Created`), counted(2, `${run}Changed`)])
  }
  const seen = await takeUntil(
    client().subscribeToAll({ fromPosition: position ?? 'start', filter: filter(run) }),
    (events) => events.length === count,
  )
  return seen.map(({ event }) => `${event?.streamId} ${event?.type}`.replaceAll(run, ''))
}

describe('a filter accepts', () => {
  test('stream names by prefix', async () => {
    const seen = await filtered((run) => streamNameFilter({ prefixes: [`${run}alpha-`, `${run}gam`] }), 4)
    expect(seen).toEqual(['alpha-1 Created', 'alpha-1 Changed', 'gamma-1 Created', 'gamma-1 Changed'])
  })

  test('stream names by regular expression', async () => {
    const seen = await filtered((run) => streamNameFilter({ regex: `^${run}(beta|gamma)-\\d+$` }), 4)
    expect(seen).toEqual(['beta-1 Created', 'beta-1 Changed', 'gamma-1 Created', 'gamma-1 Changed'])
  })

  test('event types by prefix', async () => {
    const seen = await filtered((run) => eventTypeFilter({ prefixes: [`${run}Cha`] }), 3)
    expect(seen).toEqual(['alpha-1 Changed', 'beta-1 Changed', 'gamma-1 Changed'])
  })

  test('event types by regular expression', async () => {
    const seen = await filtered((run) => eventTypeFilter({ regex: `^${run}.*ed$` }), 6)
    expect(seen.filter((line) => line.endsWith('Created'))).toHaveLength(3)
  })

  test('any part of a name, with an unanchored regular expression', async () => {
    const seen = await filtered((run) => streamNameFilter({ regex: `${run}.lph` }), 2)
    expect(seen).toEqual(['alpha-1 Created', 'alpha-1 Changed'])
  })

  test('everything except system events', async () => {
    const name = stream()
    const { position } = await client().appendToStream(name, counted(0))
    await client().setStreamMetadata(name, { maxCount: 5 })
    await append(name, 1, { first: 1 })
    const seen = await takeUntil(
      client().subscribeToAll({ fromPosition: position ?? 'start', filter: excludeSystemEvents() }),
      (events) => events.some(({ event }) => event?.streamId === name),
    )
    expect(seen.filter(({ event }) => event?.type.startsWith('$'))).toEqual([])
  })

  test('live events', async () => {
    const run = unique()
    const subscription = client().subscribeToAll({
      fromPosition: 'end',
      filter: streamNameFilter({ prefixes: [`${run}a-`] }),
    })
    const seen = takeUntil(subscription, (events) => events.length === 2)
    await emitted(subscription, 'caughtUp')
    for (const category of ['b', 'a', 'c', 'a']) await append(`${run}${category}-1`, 1)
    expect((await seen).map(({ event }) => event?.streamId)).toEqual([`${run}a-1`, `${run}a-1`])
  })

  test('a regular expression that does not compile is refused', async () => {
    const error = await failure(collect(client().subscribeToAll({ filter: streamNameFilter({ regex: '(' }) })))
    expect(error.type).toBe('unknown')
  })
})

describe('checkpoints', () => {
  test('arrive once per 32 excluded events during catch-up, then after caughtUp once per 32 live events', async () => {
    const { position } = await client().appendToStream(stream(), counted(0))
    await append(stream(), 300)
    const checkpoints: Position[] = []
    let caughtUp = 0
    const subscription = client().subscribeToAll({
      fromPosition: position ?? 'start',
      filter: streamNameFilter({
        prefixes: [unique()],
        checkpointReached: async (_subscription, reached) => void checkpoints.push(reached),
      }),
    })
    subscription.on('caughtUp', () => (caughtUp += 1)).on('data', () => {})
    await emitted(subscription, 'caughtUp')
    const whileCatchingUp = checkpoints.length
    expect(whileCatchingUp).toBeGreaterThanOrEqual(9)
    expect(whileCatchingUp).toBeLessThanOrEqual(12)
    for (let n = 0; n < 70; n += 1) await append(stream(), 1)
    await expect.poll(() => checkpoints.length).toBeGreaterThanOrEqual(whileCatchingUp + 2)
    expect(caughtUp).toBe(1)
    const commits = checkpoints.map((checkpoint) => checkpoint.commit)
    expect(commits).toEqual(commits.toSorted((a, b) => (a < b ? -1 : 1)))
    await subscription.unsubscribe()
  })

  test('are rarer with a larger window and multiplier', async () => {
    const { position } = await client().appendToStream(stream(), counted(0))
    await append(stream(), 300)
    const checkpoints: Position[] = []
    const subscription = client().subscribeToAll({
      fromPosition: position ?? 'start',
      filter: streamNameFilter({
        prefixes: [unique()],
        maxSearchWindow: 50,
        checkpointInterval: 2,
        checkpointReached: async (_subscription, reached) => void checkpoints.push(reached),
      }),
    })
    subscription.on('data', () => {})
    await emitted(subscription, 'caughtUp')
    expect(checkpoints.length).toBeGreaterThanOrEqual(2)
    expect(checkpoints.length).toBeLessThanOrEqual(4)
    await subscription.unsubscribe()
  })

  test('a subscription from a checkpoint misses no accepted event', async () => {
    const run = unique()
    const { position } = await client().appendToStream(stream(), counted(0))
    for (let round = 0; round < 5; round += 1) {
      await append(stream(), 40)
      await append(`${run}-1`, 1, { first: round })
    }
    let checkpoint = position ?? { commit: 0n, prepare: 0n }
    const seen: { revision: number; commit: bigint }[] = []
    const filter = streamNameFilter({
      prefixes: [run],
      checkpointReached: async (_subscription, reached) => {
        checkpoint = reached
      },
    })
    const subscription = client().subscribeToAll({ fromPosition: checkpoint, filter })
    subscription.on('data', ({ event }) =>
      seen.push({ revision: Number(event?.revision), commit: event?.position?.commit ?? 0n }),
    )
    await emitted(subscription, 'caughtUp')
    await expect.poll(() => seen.length).toBe(5)
    await subscription.unsubscribe()
    // The checkpoint may be at the last accepted event (KurrentDB 26), so another one follows.
    await append(`${run}-1`, 1, { first: 5 })
    const after = await takeUntil(
      client().subscribeToAll({ fromPosition: checkpoint, filter: streamNameFilter({ prefixes: [run] }) }),
      (events) => events.at(-1)?.event?.revision === 5n,
    )
    const before = seen.filter(({ commit }) => commit <= checkpoint.commit).map(({ revision }) => revision)
    const resumed = after.map(({ event }) => Number(event?.revision))
    expect([0, 1, 2, 3, 4].filter((revision) => !before.includes(revision) && !resumed.includes(revision))).toEqual([])
  })
})

import { EventStoreDBClient, binaryEvent, streamNameFilter } from '@eventstore/db-client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isRealEventStore } from '../../testing/fresh-event-store.ts'
import { collect, contractStore, counted, emitted, failure, outcome, revisions, takeUntil } from './contract-store.ts'
import { cutConnection, type CutConnection } from '../../testing/cut-connection.ts'
import { appendEvent, appendOptions, rawStreams, writeHalf } from './raw-append.ts'

const { answers, client, store, stream, append } = contractStore()

/** Credentials make the client use the call for one append instead of the batch call. */
const ALONE = { credentials: { username: 'admin', password: 'changeit' } }
const PAST = { deadline: -60_000 }

describe('an expired deadline', () => {
  test('ends a single append, a delete and a tombstone without an effect', async () => {
    const [missing, existing] = [stream(), stream()]
    await append(existing, 2)
    expect((await failure(client().appendToStream(missing, counted(0), { ...PAST, ...ALONE }))).type).toBe(
      'deadline-exceeded',
    )
    expect((await failure(client().deleteStream(existing, PAST))).type).toBe('deadline-exceeded')
    expect((await failure(client().tombstoneStream(existing, PAST))).type).toBe('deadline-exceeded')
    expect((await failure(collect(client().readStream(missing)))).type).toBe('stream-not-found')
    // The server may have begun. On a busy machine it sometimes deletes although it reports a timeout.
    if (!isRealEventStore) expect(await revisions(client().readStream(existing))).toEqual([0, 1])
  })

  test('ends a batch append', async () => {
    const name = stream()
    expect((await failure(client().appendToStream(name, counted(0), PAST))).type).toBe('deadline-exceeded')
    expect((await failure(collect(client().readStream(name)))).type).toBe('stream-not-found')
  })
})

describe('a call that its client cancels', () => {
  test('a read ends without an error, and the next read is complete', async () => {
    const name = stream()
    for (let n = 0; n < 4; n += 1) await append(name, 500, { first: n * 500 })
    const read = client().readStream(name)
    const seen: unknown[] = []
    for await (const event of read) {
      seen.push(event)
      if (seen.length === 10) break
    }
    await read.cancel()
    expect(await collect(client().readStream(name))).toHaveLength(2_000)
  })

  test('a hundred subscriptions in sequence use up no resources', async () => {
    const name = stream()
    await append(name, 1)
    for (let n = 0; n < 100; n += 1) {
      const subscription =
        n % 2 === 0
          ? client().subscribeToStream(name)
          : client().subscribeToAll({ filter: streamNameFilter({ prefixes: [name] }) })
      await takeUntil(subscription, (events) => events.length === 1)
      await subscription.unsubscribe()
    }
    await append(name, 1, { first: 1 })
    expect(await revisions(client().readStream(name))).toEqual([0, 1])
  })
})

describe('an append that its client does not complete writes nothing', () => {
  test.each(['reset', 'close'] as const)('when its connection ends (%s)', async (how) => {
    const relay = await cutConnection(store().url)
    const cutOff = rawStreams(relay.url)
    const name = stream()
    const ended = new Promise<string>((resolve) => {
      const call = cutOff.append((error) => resolve(error?.message ?? 'written'))
      writeHalf(call, name, '{}', 'Half')
    })
    const whole = stream()
    await new Promise<void>((resolve, reject) => {
      const call = cutOff.append((error) => (error === null ? resolve() : reject(error)))
      writeHalf(call, whole, '{}', 'Whole')
      call.end()
    })
    relay.cut(how)
    expect(await ended).not.toBe('written')
    await append(whole, 1)
    expect(await revisions(client().readStream(whole))).toEqual([0, 1])
    expect((await failure(collect(client().readStream(name)))).type).toBe('stream-not-found')
    cutOff.close()
    await relay.close()
  })
})

test('an append whose event comes before its options is refused', async () => {
  const raw = rawStreams(store().url)
  const name = stream()
  const refused = new Promise<string | undefined>((resolve) => {
    const call = raw.append((error) => resolve(error?.details))
    call.write(appendEvent('{}', 'Early'))
    call.write(appendOptions(name))
    call.end()
  })
  expect(await refused).toBe('Exception was thrown by handler.')
  expect((await failure(collect(client().readStream(name)))).type).toBe('stream-not-found')
  raw.close()
})

describe('a lost connection', () => {
  let relay: CutConnection | undefined
  let behind: EventStoreDBClient | undefined

  beforeEach(async () => {
    relay = await cutConnection(store().url)
    behind = EventStoreDBClient.connectionString(relay.url)
  })
  afterEach(async () => {
    await behind?.dispose()
    await relay?.close()
  })

  function through(): { relay: CutConnection; behind: EventStoreDBClient } {
    if (relay === undefined || behind === undefined) throw new Error('no relay yet')
    return { relay, behind }
  }

  test('fails a read, and the next read is complete', async () => {
    const name = stream()
    await client().appendToStream(
      name,
      Array.from({ length: 8 }, () => binaryEvent({ type: 'Large', data: Buffer.alloc(100_000) })),
    )
    for (let n = 0; n < 9; n += 1)
      await client().appendToStream(
        name,
        Array.from({ length: 8 }, () => binaryEvent({ type: 'Large', data: Buffer.alloc(100_000) })),
      )
    const cutInside = async (): Promise<void> => {
      for await (const { event } of through().behind.readStream(name)) if (event?.revision === 3n) through().relay.cut()
    }
    expect((await failure(cutInside())).type).toBe('unavailable')
    expect(await collect(through().behind.readStream(name))).toHaveLength(80)
  })

  test('fails subscriptions to a stream and to $all; new ones continue at the same place', async () => {
    const name = stream()
    const { position } = await client().appendToStream(name, counted(0))
    const options = { fromPosition: position ?? ('start' as const), filter: streamNameFilter({ prefixes: [name] }) }
    const subscriptions = [through().behind.subscribeToStream(name), through().behind.subscribeToAll(options)]
    const errors = subscriptions.map((subscription) => failure(collect(subscription)))
    await Promise.all(subscriptions.map((subscription) => emitted(subscription, 'caughtUp')))
    through().relay.cut()
    for (const error of errors) expect((await error).type).toBe('unavailable')
    await append(name, 2, { first: 1 })
    const again = await Promise.all([
      takeUntil(through().behind.subscribeToStream(name, { fromRevision: 0n }), (events) => events.length === 2),
      takeUntil(through().behind.subscribeToAll(options), (events) => events.length === 2),
    ])
    for (const events of again) expect(events.map(({ event }) => event?.revision)).toEqual([1n, 2n])
  })

  test('during batch appends: a repeat leaves each append in the store once and complete', async () => {
    const names = Array.from({ length: 20 }, () => stream())
    const events = names.map(() => [counted(0), counted(1), counted(2)])
    await through().behind.appendToStream(stream(), counted(0))
    const first = names.map((name, index) =>
      through().behind.appendToStream(name, events[index] ?? [], { expectedRevision: 'no_stream' }),
    )
    const outcomes = Promise.allSettled(first)
    through().relay.cut()
    await outcomes
    for (const [index, name] of names.entries()) {
      const again = await client().appendToStream(name, events[index] ?? [], { expectedRevision: 'no_stream' })
      expect(again.nextExpectedRevision).toBe(2n)
      const read = await collect(client().readStream(name))
      expect(read.map(({ event }) => event?.id)).toEqual(events[index]?.map(({ id }) => id))
    }
  })

  test('a frozen connection does not stop others', async () => {
    const name = stream()
    await append(name, 3)
    const subscription = through().behind.subscribeToAll()
    subscription.on('error', () => {})
    await emitted(subscription, 'confirmation')
    through().relay.freeze()
    await append(name, 50, { first: 3 })
    expect(await collect(client().readStream(name))).toHaveLength(53)
  })
})

describe('sizes', () => {
  test.each([
    ['batch', {}],
    ['alone', ALONE],
  ])(
    '%s: accepts 1 MiB of data in one or many events, refuses one byte more, ignores metadata',
    async (_call, options) => {
      const [whole, many] = [stream(), stream()]
      const bytes = (size: number, metadata = 0): ReturnType<typeof binaryEvent> => {
        return binaryEvent({
          type: 'Large',
          data: Buffer.alloc(size, 7),
          ...(metadata > 0 ? { metadata: Buffer.alloc(metadata, 8) } : {}),
        })
      }
      await client().appendToStream(whole, bytes(1 << 20, 1 << 20), options)
      await client().appendToStream(
        many,
        Array.from({ length: 1_024 }, () => bytes(1_024)),
        options,
      )
      const larger = await outcome(client().appendToStream(whole, bytes((1 << 20) + 1), options))
      expect(larger).toBeOneOf(answers('maximum-append-size-exceeded', 'success'))
      const [read] = await collect(client().readStream(whole))
      expect(read?.event?.data).toHaveLength(1 << 20)
      expect(read?.event?.metadata).toHaveLength(1 << 20)
      expect(await collect(client().readStream(many))).toHaveLength(1_024)
    },
  )
})

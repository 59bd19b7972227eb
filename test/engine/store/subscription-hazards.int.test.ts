import { Readable } from 'node:stream'
import type { SubjectKey } from '../../../platform/kit/key-vault.ts'
import { describe, expect, test } from 'vitest'
import { EventStoreRefusedError, UndecodableEventError, type EventHead } from '../../../engine/store/errors.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import { supervise, type SupervisedSubscription } from '../../../engine/store/subscription.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { AllSubscription } from '../../../engine/store/subscription-options.ts'
import { MemoryKeys, newContext, noted, openTestStore, until, untilItRests, visitCategory } from './fixtures.ts'
import { accessRefused, ScriptedServer, unavailable, type ReadCall } from './scripted-server.ts'
import { createSigner } from '../../../engine/store/signature.ts'
import { appended, caughtUp, checkpoint, confirmation, fellBehind, wireEvent } from './wire-messages.ts'

const { catalogue, category, fold, stream } = visitCategory()
const vault = new MemoryKeys()
const signer = createSigner(vault.signingKey)
const filter = { streamPrefixes: [`${category}-`] }

/** A well-formed event at a position of the log, with about as many bytes as its text. */
function eventAt(
  position: number,
  overrides: { readonly data?: string; readonly metadata?: string } = {},
  text?: string,
) {
  const id = `00000000-0000-4000-8000-${String(position).padStart(12, '0')}`
  const data = JSON.stringify({ room: position, text })
  const place = { id, stream: `${category}-org-1`, type: 'VisitNoted' }
  const unsigned = JSON.stringify({ commandId: id, $correlationId: id, schemaVersion: 1 })
  const metadata = signer.sign({ ...place, revision: BigInt(position) }, data, unsigned)
  return wireEvent({ ...place, revision: position, position, data, metadata, ...overrides })
}

function script(...parts: readonly ((call: ReadCall) => void)[]) {
  return {
    onRead: (call: ReadCall, number: number) => {
      call.write(confirmation())
      parts[number - 1]?.(call)
    },
  }
}

interface Following extends Partial<Pick<AllSubscription, 'from' | 'onUndecodable' | 'onCheckpoint' | 'onCaughtUp'>> {
  /** Runs before the first event is handled. */
  readonly first?: () => Promise<void>
}

/** Follows the whole category and records all callbacks in order. */
function follow(store: EventStore, { first = async () => undefined, ...overrides }: Following = {}) {
  const received: string[] = []
  const ending = new AbortController()
  const subscription = store.subscribeToAll({
    name: 'test',
    filter,
    from: 'start',
    signal: ending.signal,
    onError: () => undefined,
    onEvent: async (event) => {
      if (received.length === 0) await first()
      await new Promise((resolve) => setImmediate(resolve))
      received.push(`event ${event.position.commit}`)
    },
    onCheckpoint: (position) => void received.push(`checkpoint ${position.commit}`),
    onCaughtUp: () => void received.push('caught up'),
    ...overrides,
  })
  return { received, subscription, stop: () => ending.abort() }
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

describe('subscriptions to a server that misbehaves', () => {
  test('a checkpoint and caught-up are reported only after all earlier events were handled', async () => {
    await using server = await ScriptedServer.start(
      script((call) => {
        for (const position of numbers(1, 10)) call.write(eventAt(position))
        call.write(checkpoint(11))
        call.write(caughtUp())
        call.write(eventAt(12))
      }),
    )
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    // Everything else has arrived and waits while the first event is handled.
    const { received, subscription, stop } = follow(store, { first: () => untilItRests(() => server.reads.length) })

    await until(() => received.includes('event 12'))
    expect(received).toEqual([
      ...numbers(1, 10).map((position) => `event ${position}`),
      'checkpoint 11',
      'caught up',
      'event 12',
    ])
    stop()
    await subscription.ended
  })

  test('a callback that throws ends the subscription with its error and does not hang it', async () => {
    await using server = await ScriptedServer.start(script((call) => call.write(checkpoint(1))))
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const failure = new Error('the read model is gone')
    const { subscription } = follow(store, {
      onCheckpoint: () => {
        throw failure
      },
    })

    await expect(subscription.ended).rejects.toBe(failure)
    expect(server.reads).toHaveLength(1)
  })

  test('onError receives the error of a handler, and nothing after its event is delivered', async () => {
    await using server = await ScriptedServer.start(
      script((call) => {
        for (const position of numbers(1, 3)) call.write(eventAt(position))
      }),
    )
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const seen: bigint[] = []
    const errors: unknown[] = []
    const subscription = store.subscribeToAll({
      name: 'failing',
      filter,
      from: 'start',
      signal: new AbortController().signal,
      onError: (error) => void errors.push(error),
      onEvent: ({ position }) => {
        seen.push(position.commit)
        if (position.commit === 2n) throw new Error('no such row')
      },
    })

    await expect(subscription.ended).rejects.toThrow('no such row')
    expect(seen).toEqual([1n, 2n])
    expect(errors).toHaveLength(1)
    expect(subscription.stats()).toMatchObject({ connected: false, position: { commit: 1n } })
  })

  test('a subscription that the server ends without an error is restarted', async () => {
    await using server = await ScriptedServer.start(
      script(
        (call) => {
          call.write(eventAt(1))
          call.end()
        },
        (call) => call.write(eventAt(2)),
      ),
    )
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const { received, subscription, stop } = follow(store)

    await until(() => received.includes('event 2'))
    expect(received).toEqual(['event 1', 'event 2'])
    expect(subscription.stats()).toMatchObject({ restarts: 1, connected: true })
    stop()
    await subscription.ended
  })

  test('a dropped subscription resumes after the last event that was handled', async () => {
    await using server = await ScriptedServer.start(
      script(
        (call) => {
          for (const position of numbers(1, 3)) call.write(eventAt(position))
          call.write(checkpoint(5))
          setImmediate(() => unavailable(call))
        },
        (call) => {
          // An event that was delivered before: a server may repeat it.
          for (const position of numbers(3, 6)) call.write(eventAt(position))
        },
      ),
    )
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const { received, subscription, stop } = follow(store)

    await until(() => received.includes('event 6'))
    expect(received).toEqual(['event 1', 'event 2', 'event 3', 'checkpoint 5', 'event 6'])
    expect(server.reads[1]?.options?.all?.position).toEqual({ commitPosition: '5', preparePosition: '5' })
    stop()
    await subscription.ended
  })

  test('events that a dropped connection delivered but nobody handled are handled once', async () => {
    const hold = Promise.withResolvers<void>()
    await using server = await ScriptedServer.start({
      onRead: (call, number) => {
        call.write(confirmation())
        const { all } = call.request.toObject().options ?? {}
        const after = Number(all?.position?.commitPosition ?? 0)
        for (const position of numbers(after + 1, number === 1 ? 5 : 8)) call.write(eventAt(position))
        if (number === 1) setImmediate(() => unavailable(call))
      },
    })
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const seen: bigint[] = []
    const ending = new AbortController()
    const subscription = store.subscribeToAll({
      name: 'late',
      filter,
      from: 'start',
      signal: ending.signal,
      onEvent: async ({ position }) => {
        if (position.commit === 1n) await hold.promise
        seen.push(position.commit)
      },
    })
    await untilItRests(() => server.reads.length)
    hold.resolve()

    await until(() => seen.length >= 8)
    expect(seen).toEqual(numbers(1, 8).map(BigInt))
    expect(subscription.stats().restarts).toBe(1)
    ending.abort()
    await subscription.ended
  })

  test('caught-up ends if the server fell behind, and is reported again later', async () => {
    await using server = await ScriptedServer.start(
      script((call) => {
        call.write(caughtUp())
        call.write(fellBehind())
        call.write(eventAt(1))
        call.write(caughtUp())
      }),
    )
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const states: boolean[] = []
    const note = async () => void states.push(subscription.stats().caughtUp)
    const { received, subscription, stop } = follow(store, { first: note, onCaughtUp: note })

    await until(() => states.length === 3)
    expect(states).toEqual([true, false, true])
    expect(received).toEqual(['event 1'])
    stop()
    await subscription.ended
  })

  test('malformed JSON and malformed metadata are undecodable events, never data', async () => {
    await using server = await ScriptedServer.start(
      script((call) => {
        call.write(eventAt(1, { data: '{oops' }))
        call.write(eventAt(2, { metadata: 'not json' }))
        call.write(eventAt(3, { data: '{"room":4}' }))
        call.write(eventAt(4))
      }),
    )
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const reasons: string[] = []
    const { received, subscription, stop } = follow(store, {
      onUndecodable: (_, { reason }) => void reasons.push(reason),
    })

    await until(() => received.includes('event 4'))
    expect(received).toEqual(['event 4'])
    expect(reasons).toEqual(['malformed', 'malformed', 'signature'])
    stop()
    await subscription.ended
  })

  test('each event is decoded once, also among many that cannot be decoded', async () => {
    const call = Object.assign(new Readable({ objectMode: true, read: () => undefined }), { cancel: () => undefined })
    const ending = new AbortController()
    const seen: string[] = []
    let decoded = 0
    const { ended } = supervise({
      name: 'following',
      following: undefined,
      start: { position: 'start', revision: 'start' },
      delivery: { onEvent: ({ revision }: RecordedEvent) => void seen.push(`event ${revision}`) },
      callbacks: {
        signal: ending.signal,
        onUndecodable: ({ revision }: EventHead) => void seen.push(`undecodable ${revision}`),
      },
      onCheckpoint: undefined,
      open: async () => call,
      accepts: () => true,
      isHandled: () => false,
      node: { heard: () => undefined, whenOverdue: () => () => undefined },
      leader: { follow: () => () => undefined },
      codec: {
        decode: (event: EventHead) => {
          decoded += 1
          if (event.revision % 2n === 0n) return event
          throw new UndecodableEventError(event, 'signature')
        },
      },
      now: () => new Date(),
      logger: undefined,
    } as unknown as SupervisedSubscription)
    const events = numbers(1, 40)
    for (const message of [confirmation(), ...events.map((position) => eventAt(position))])
      call.push(Buffer.from(message.serializeBinary()))
    await until(() => seen.length === 40)
    expect(seen).toEqual(events.map((position) => `${position % 2 === 0 ? 'event' : 'undecodable'} ${position}`))
    expect(decoded).toBe(40)
    ending.abort()
    await ended
  })

  test('an undecodable event ends a subscription without a callback for them', async () => {
    await using server = await ScriptedServer.start(script((call) => call.write(eventAt(1, { data: '[]' }))))
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const { subscription } = follow(store)

    await expect(subscription.ended).rejects.toThrow(UndecodableEventError)
  })

  test('a subscription without the rights to read the log ends with an error', async () => {
    await using server = await ScriptedServer.start({ onRead: (call) => accessRefused(call) })
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const { subscription } = follow(store)

    await expect(subscription.ended).rejects.toThrow(EventStoreRefusedError)
    await expect(store.head(filter)).rejects.toThrow(EventStoreRefusedError)
  })

  test('with a slow handler, the rest of the log stays on the server', async () => {
    const log = numbers(1, 2_000)
    const big = 'x'.repeat(32_768)
    let sent = 0
    await using server = await ScriptedServer.start(
      script((call) => {
        // As fast as the connection accepts it: the server sends only what the client has room for.
        const send = () => {
          while (sent < log.length) {
            sent += 1
            if (!call.write(eventAt(sent, {}, big))) return void call.once('drain', send)
          }
        }
        send()
      }),
    )
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const ending = new AbortController()
    const hold = Promise.withResolvers<void>()
    const handled: bigint[] = []
    const subscription = store.subscribeToAll({
      name: 'slow',
      filter,
      from: 'start',
      signal: ending.signal,
      batchSize: 50,
      onBatch: async (events) => {
        handled.push(...events.map(({ position }) => position.commit))
        await hold.promise
      },
    })

    await until(() => handled.length > 0)
    await untilItRests(() => sent)
    const held = { sent, handled: handled.length }
    hold.resolve()
    await until(() => handled.length === log.length)
    ending.abort()
    await subscription.ended

    expect(handled).toEqual(log.map(BigInt))
    expect(held.handled).toBeLessThanOrEqual(50)
    // Two buffers of 512, the current batch, and the content of the connection itself.
    expect(held.sent).toBeLessThan(1_200)
  })

  test('subscriptions have their own connection and use no place in the queue of commands', async () => {
    await using server = await ScriptedServer.start({
      mostCalls: 100,
      onRead: (call) => {
        call.write(confirmation())
        call.write(eventAt(1))
      },
      onAppend: (request, call) => call.write(appended(request, 0, 10)),
    })
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    // One more than a connection allows: the last one waits, and commands do not.
    const followers = Array.from({ length: 101 }, () => follow(store))
    await until(() => followers.filter(({ received }) => received.length === 1).length === 100)
    await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())

    expect(server.reads).toHaveLength(100)
    expect(server.appends[0]?.peer).not.toBe(server.readPeers[0])
    for (const { stop } of followers) stop()
    await Promise.all(followers.map(({ subscription }) => subscription.ended))
  })

  test('a subscription lets the server filter, and send a checkpoint for every 1,000 considered events', async () => {
    await using server = await ScriptedServer.start(script((call) => call.write(eventAt(1))))
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const { received, subscription, stop } = follow(store)
    await until(() => received.length === 1)

    expect(server.reads[0]?.options?.filter).toMatchObject({
      max: 1_000,
      checkpointintervalmultiplier: 1,
      streamIdentifier: { prefixList: [`${category}-`] },
    })
    stop()
    await subscription.ended
  })

  test('a vault that is away is a drop, not the end of a subscription', async () => {
    await using server = await ScriptedServer.start(
      script(
        (call) => call.write(sealedEvent()),
        (call) => call.write(sealedEvent()),
      ),
    )
    const forgetful = new AwayOnce(vault)
    await using store = await openTestStore({ url: server.url, catalogue, vault: forgetful })
    const { received, subscription, stop } = follow(store)

    await until(() => received.length === 1)
    expect(received).toEqual(['event 1'])
    expect(subscription.stats().restarts).toBe(1)
    stop()
    await subscription.ended
  })
})

/** An event with a sealed member for a subject that was erased later. */
function sealedEvent() {
  const id = '00000000-0000-4000-8000-000000000001'
  const data = JSON.stringify({ patientId: 'gone', room: 1, name: { $phi: 'AAAA' } })
  const place = { id, stream: `${category}-org-1`, type: 'VisitOpened' }
  const metadata = signer.sign(
    { ...place, revision: 1n },
    data,
    JSON.stringify({ commandId: id, $correlationId: id, orgId: 'org', schemaVersion: 1 }),
  )
  return wireEvent({ ...place, revision: 1, position: 1, data, metadata })
}

class AwayOnce extends MemoryKeys {
  #asked = 0

  constructor(real: MemoryKeys) {
    super()
    this.signingKey = real.signingKey
  }

  override async subjectKeyForReading(): Promise<SubjectKey> {
    this.#asked += 1
    if (this.#asked === 1) throw new Error('connection refused')
    return 'destroyed'
  }
}

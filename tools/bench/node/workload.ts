import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, FORWARDS, NO_STREAM, START, jsonEvent, type Position } from '@eventstore/db-client'

const TYPE = 'Measured'
const TEXT = 'x'.repeat(270)
const FILL_SIZE = 200
const FILL_IN_FLIGHT = 4

/** Number of different events that the canned server sends. */
export const CANNED_EVENTS = 1000

/** An event with 300 bytes of data. */
export function measuredEvent(number: number): { type: string; data: { number: number; text: string } } {
  return { type: TYPE, data: { number, text: TEXT } }
}

/** Runs work with a client on its own connection, then closes it. */
async function withClient<Result>(url: string, work: (client: EventStoreDBClient) => Promise<Result>): Promise<Result> {
  const client = EventStoreDBClient.connectionString(url)
  try {
    return await work(client)
  } finally {
    await client.dispose()
  }
}

/**
 * Appends to new streams with a number in flight and checks each answer. Returns the milliseconds of each append and of
 * all.
 */
export function append(url: string, count: number, inFlight: number): Promise<{ each: number[]; all: number }> {
  return withClient(url, async (client) => {
    const each: number[] = []
    let begun = 0
    const run = `measured-${randomUUID()}`
    const appendNext = async (): Promise<void> => {
      while (begun < count) {
        begun += 1
        const event = jsonEvent(measuredEvent(begun))
        const started = performance.now()
        const { success, nextExpectedRevision } = await client.appendToStream(`${run}-${begun}`, event, {
          expectedRevision: NO_STREAM,
        })
        each.push(performance.now() - started)
        if (!success || nextExpectedRevision !== 0n)
          throw new Error(`append ${begun} was not acknowledged as the first of its stream`)
      }
    }
    await client.appendToStream(run, jsonEvent(measuredEvent(0)))
    const started = performance.now()
    await Promise.all(Array.from({ length: inFlight }, appendNext))
    return { each, all: performance.now() - started }
  })
}

/** Fills a server with numbered events, 200 per stream. Returns the position behind nine tenths of them. */
export function fill(url: string, count: number): Promise<Position> {
  return withClient(url, async (client) => {
    let begun = 0
    let nineTenths: Position = { commit: 0n, prepare: 0n }
    const run = `filled-${randomUUID()}`
    const fillNext = async (): Promise<void> => {
      while (begun < count) {
        const first = begun
        begun += FILL_SIZE
        const events = Array.from({ length: FILL_SIZE }, (_, offset) => jsonEvent(measuredEvent(first + offset)))
        const { position } = await client.appendToStream(`${run}-${first}`, events, { expectedRevision: NO_STREAM })
        if (position === undefined) throw new Error('an append was acknowledged without a position')
        if (first < count * 0.9) nineTenths = position
      }
    }
    await Promise.all(Array.from({ length: FILL_IN_FLIGHT }, fillNext))
    return nineTenths
  })
}

/** Events per second when `$all` is read. Each number of the benchmark's events must occur once. */
export function readAll(url: string, count: number, fromPosition: Position | typeof START = START): Promise<number> {
  return withClient(url, async (client) => {
    const numbers = new Numbers()
    const started = performance.now()
    // Events of the server itself, such as its statistics, are read too but do not count.
    for await (const { event } of client.readAll({ direction: FORWARDS, fromPosition, maxCount: count })) {
      if (event?.type === TYPE) numbers.add(event.data)
    }
    const taken = performance.now() - started
    numbers.expect(count)
    return numbers.perSecond(taken)
  })
}

/** Events per second of a subscription to `$all`, until it has delivered `count` numbered events. */
export function subscribeToAll(url: string, count: number): Promise<number> {
  return withClient(url, async (client) => {
    const numbers = new Numbers()
    const started = performance.now()
    const subscription = client.subscribeToAll({ fromPosition: START })
    for await (const { event } of subscription) {
      if (event?.type === TYPE) numbers.add(event.data)
      if (numbers.count >= count) break
    }
    const taken = performance.now() - started
    await subscription.unsubscribe()
    numbers.expect(count)
    return numbers.perSecond(taken)
  })
}

/** Checks that the read events equal the written ones. */
class Numbers {
  count = 0
  private readonly seen = new Set<unknown>()

  add(data: unknown): void {
    const isWhole =
      typeof data === 'object' && data !== null && 'number' in data && 'text' in data && data.text === TEXT
    if (!isWhole) throw new Error('an event differs from what was written')
    this.count += 1
    this.seen.add(data.number)
  }

  /** A canned server repeats its events. A server has events of its own among the requested ones. */
  expect(asked: number): void {
    const isCanned = this.seen.size === CANNED_EVENTS
    if (this.count < asked * 0.99 || this.count > asked) throw new Error(`${this.count} of ${asked} events arrived`)
    if (!isCanned && this.seen.size !== this.count)
      throw new Error(`${this.count - this.seen.size} events arrived twice`)
  }

  perSecond(milliseconds: number): number {
    return (this.count * 1000) / milliseconds
  }
}

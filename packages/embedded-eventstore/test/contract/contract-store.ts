import { randomUUID } from 'node:crypto'
import {
  EventStoreDBClient,
  jsonEvent,
  type AllStreamResolvedEvent,
  type AppendExpectedRevision,
  type JSONEventType,
  type ResolvedEvent,
  binaryEvent,
} from '@eventstore/db-client'
import { afterAll, beforeAll } from 'vitest'
import { freshEventStore, isRealEventStore, type TestEventStore } from '../../testing/fresh-event-store.ts'

type Counted = JSONEventType<string, { n: number }>

/** Common parts of the contract suite: the official client on one store, and unique names. */
export type ContractStore = {
  /**
   * What the embedded node answers, and EventStoreDB 23.10. A real server may also answer as KurrentDB 26 does
   * (docs/event-store-lines.md).
   */
  answers: (own: unknown, ofKurrentDb: unknown) => unknown[]
  client: () => EventStoreDBClient
  store: () => TestEventStore
  /** A stream name of this run. The category is unique to the run too. */
  stream: (category?: string) => string
  /** Appends events with n = first, first + 1, … and returns them. */
  append: (
    stream: string,
    count: number,
    options?: { expectedRevision?: AppendExpectedRevision; first?: number },
  ) => Promise<ReturnType<typeof counted>[]>
}

export function counted(n: number, type = 'Counted'): ReturnType<typeof jsonEvent<Counted>> {
  return jsonEvent<Counted>({ id: randomUUID(), type, data: { n } })
}

/** Starts a store before the tests of a file and stops it after them. */
export function contractStore(): ContractStore {
  let store: TestEventStore | undefined
  let client: EventStoreDBClient | undefined
  beforeAll(async () => {
    store = await freshEventStore()
    client = EventStoreDBClient.connectionString(store.url)
  })
  afterAll(async () => {
    await client?.dispose()
    await store?.stop()
  })
  const opened = (): EventStoreDBClient => {
    if (client === undefined) throw new Error('the store is not started yet')
    return client
  }
  return {
    answers: (own, ofKurrentDb) => (isRealEventStore ? [own, ofKurrentDb] : [own]),
    client: opened,
    store: () => {
      if (store === undefined) throw new Error('the store is not started yet')
      return store
    },
    stream: (category = 'contract') => `${category}-${randomUUID()}`,
    append: async (stream, count, { expectedRevision = 'any', first = 0 } = {}) => {
      const events = Array.from({ length: count }, (_, index) => counted(first + index))
      await opened().appendToStream(stream, events, { expectedRevision })
      return events
    },
  }
}

/** All results of a read. */
export async function collect<Event>(read: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = []
  for await (const event of read) events.push(event)
  return events
}

/** The revisions in a read, as numbers. */
export async function revisions(read: AsyncIterable<ResolvedEvent | AllStreamResolvedEvent>): Promise<number[]> {
  return (await collect(read)).map(({ event }) => Number(event?.revision))
}

/** `success`, or the type of the error. */
export async function outcome(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'success',
    (error: unknown) => (error instanceof Error && 'type' in error ? error.type : error),
  )
}

/** The error of a failing call. */
export async function failure(call: Promise<unknown>): Promise<{ type?: unknown; [key: string]: unknown }> {
  try {
    await call
  } catch (error) {
    if (error instanceof Error) return Object.fromEntries(Object.entries(error))
    throw error
  }
  throw new Error('the call was expected to fail')
}

/** Takes events from a subscription until `enough` returns true. */
export async function takeUntil<Event>(
  subscription: AsyncIterable<Event>,
  enough: (events: Event[]) => boolean,
): Promise<Event[]> {
  const events: Event[] = []
  for await (const event of subscription) {
    events.push(event)
    if (enough(events)) break
  }
  return events
}

/** Resolves at the first event of this name. */
export function emitted(emitter: { once(name: string, listener: () => void): unknown }, name: string): Promise<void> {
  return new Promise((resolve) => {
    emitter.once(name, () => resolve())
  })
}

/** A link event with the data `revision@stream`. */
export function link(target: string): ReturnType<typeof binaryEvent> {
  return binaryEvent({ type: '$>', data: Buffer.from(target) })
}

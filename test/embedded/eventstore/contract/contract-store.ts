import { randomUUID } from 'node:crypto'
import {
  EventStoreDBClient,
  jsonEvent,
  type AllStreamResolvedEvent,
  type AppendExpectedRevision,
  type JSONEventType,
  type ResolvedEvent,
} from '@eventstore/db-client'
import { afterAll, beforeAll } from 'vitest'
import { freshEventStore, type TestEventStore } from '../../../support/event-store.ts'

export type Counted = JSONEventType<string, { n: number }>

/** What every file of the contract suite works with: the official client on one store, and names nobody else uses. */
export type ContractStore = {
  client: () => EventStoreDBClient
  store: () => TestEventStore
  /** A stream name of this run; the category is unique to the run too. */
  stream: (category?: string) => string
  /** Appends events with n = first, first + 1, …; returns them. */
  append: (
    stream: string,
    count: number,
    options?: { expectedRevision?: AppendExpectedRevision; first?: number },
  ) => Promise<ReturnType<typeof counted>[]>
}

export function counted(n: number, type = 'Counted'): ReturnType<typeof jsonEvent<Counted>> {
  return jsonEvent<Counted>({ id: randomUUID(), type, data: { n } })
}

/** Starts a store before the tests of a file and stops it behind them. */
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

/** All that a read yields. */
export async function collect<Event>(read: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = []
  for await (const event of read) events.push(event)
  return events
}

/** The revisions that a read yields, as numbers. */
export async function revisions(read: AsyncIterable<ResolvedEvent | AllStreamResolvedEvent>): Promise<number[]> {
  return (await collect(read)).map(({ event }) => Number(event?.revision))
}

/** Type of the error a call fails with. */
export async function failure(call: Promise<unknown>): Promise<{ type?: unknown; [key: string]: unknown }> {
  try {
    await call
  } catch (error) {
    if (error instanceof Error) return Object.fromEntries(Object.entries(error))
    throw error
  }
  throw new Error('the call was expected to fail')
}

/** Takes events off a subscription until `enough` says so. */
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

/** Resolves when an emitter has emitted an event once. */
export function emitted(emitter: { once(name: string, listener: () => void): unknown }, name: string): Promise<void> {
  return new Promise((resolve) => {
    emitter.once(name, () => resolve())
  })
}

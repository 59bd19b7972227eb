import {
  persistentSubscriptionToStreamSettingsFromDefaults,
  type EventStoreDBClient,
  type PersistentSubscriptionToAll,
  type PersistentSubscriptionToAllResolvedEvent,
  type PersistentSubscriptionToStream,
  type PersistentSubscriptionToStreamResolvedEvent,
  type PersistentSubscriptionToStreamSettings,
} from '@eventstore/db-client'
import { expect } from 'vitest'

type Delivered = PersistentSubscriptionToStreamResolvedEvent | PersistentSubscriptionToAllResolvedEvent
type Subscription = PersistentSubscriptionToStream | PersistentSubscriptionToAll

/** Nothing here takes longer on purpose. A server's timer for groups fires once a second. */
export const SOON = { timeout: 20_000 }

/** Settings of a group that begins at the start and writes every checkpoint. `changes` take priority. */
export function settings(
  changes: Partial<PersistentSubscriptionToStreamSettings> = {},
): PersistentSubscriptionToStreamSettings {
  return persistentSubscriptionToStreamSettingsFromDefaults({
    startFrom: 'start',
    checkPointLowerBound: 1,
    checkPointUpperBound: 1,
    ...changes,
  })
}

/** A consumer of a group. It stores its messages and answers only on request. */
export class TestConsumer {
  readonly delivered: Delivered[] = []
  readonly errors: unknown[] = []
  readonly subscription: Subscription
  private readonly confirmed: Promise<void>

  constructor(subscription: Subscription) {
    this.subscription = subscription
    const keep = (event: Delivered): void => {
      this.delivered.push(event)
    }
    subscription.on('data', keep)
    subscription.on('error', (error: Error) => this.errors.push('type' in error ? error.type : error))
    this.confirmed = new Promise((resolve) => {
      subscription.once('confirmation', () => resolve())
    })
  }

  /** The `n` in the data of each delivered event. */
  get numbers(): unknown[] {
    return this.delivered.map(({ event }) => numberOf(event?.data))
  }

  get retries(): number[] {
    return this.delivered.map(({ retryCount }) => retryCount)
  }

  async joined(): Promise<this> {
    await this.confirmed
    return this
  }

  /** Waits for a total number of deliveries and returns them. */
  async got(count: number): Promise<Delivered[]> {
    await expect.poll(() => this.delivered.length, SOON).toBeGreaterThanOrEqual(count)
    return this.delivered
  }

  /** Acknowledges deliveries by their index in the order of arrival. */
  async ack(...places: number[]): Promise<void> {
    await this.subscription.ack(...places.map((place) => this.at(place)))
  }

  async nack(action: 'park' | 'retry' | 'skip' | 'stop', reason: string, ...places: number[]): Promise<void> {
    await this.subscription.nack(action, reason, ...places.map((place) => this.at(place)))
  }

  async leave(): Promise<void> {
    await this.subscription.unsubscribe()
  }

  private at(place: number): Delivered {
    const event = this.delivered[place]
    if (event === undefined) throw new Error(`nothing was delivered at ${place}`)
    return event
  }
}

/** Joins a group on a stream. Resolves when the server has confirmed the consumer. */
export async function consumer(
  client: EventStoreDBClient,
  stream: string,
  group: string,
  bufferSize = 10,
): Promise<TestConsumer> {
  return new TestConsumer(client.subscribeToPersistentSubscriptionToStream(stream, group, { bufferSize })).joined()
}

function numberOf(data: unknown): unknown {
  return typeof data === 'object' && data !== null && 'n' in data ? data.n : undefined
}

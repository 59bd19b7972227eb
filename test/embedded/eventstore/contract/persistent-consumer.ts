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

/** Nothing here takes longer on purpose; a server's clock for groups strikes once a second. */
export const SOON = { timeout: 20_000 }

/** Settings of a group that begins at the start and notes every step; `changes` win. */
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

/** A consumer of a group that keeps what it gets and answers only when told to. */
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

  /** What was delivered, by the n in its data. */
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

  /** Waits for a number of deliveries in all; returns them. */
  async got(count: number): Promise<Delivered[]> {
    await expect.poll(() => this.delivered.length, SOON).toBeGreaterThanOrEqual(count)
    return this.delivered
  }

  /** Acknowledges deliveries by their places in the order of arrival. */
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

/** Joins a group on a stream; resolves when the server has let the consumer in. */
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

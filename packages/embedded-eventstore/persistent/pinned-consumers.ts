import { crc32 } from 'node:zlib'
import { TakingTurns, type Assignment, type Consumer, type ConsumerStrategy } from './consumer.ts'
import type { Strategy } from './group-settings.ts'
import type { Message } from './message.ts'

const BUCKETS = 1024

type Bucket<Event> = { consumer: Consumer<Event> | undefined; inFlight: number }

/**
 * Assigns keys to buckets and buckets to consumers. Messages of one key go to one consumer as long as it stays. A new
 * consumer takes its equal part of the buckets from the others, idle ones first. The buckets of a consumer that leaves are
 * assigned again at their next message.
 */
class PinnedConsumers<Event> implements ConsumerStrategy<Event> {
  private readonly keyOf: (event: Event) => string
  private readonly buckets: Bucket<Event>[] = Array.from({ length: BUCKETS }, () => ({
    consumer: undefined,
    inFlight: 0,
  }))
  private readonly owned = new Map<Consumer<Event>, number>()

  constructor(keyOf: (event: Event) => string) {
    this.keyOf = keyOf
  }

  added(newcomer: Consumer<Event>): void {
    this.owned.set(newcomer, 0)
    const assigned = [...this.owned.values()].reduce((sum, count) => sum + count, 0)
    const most = Math.ceil(assigned / this.owned.size)
    for (const [consumer, count] of this.owned) {
      if (consumer === newcomer || count <= most) continue
      const spare = this.buckets
        .filter((bucket) => bucket.consumer === consumer)
        .toSorted((a, b) => a.inFlight - b.inFlight)
      for (const bucket of spare.slice(0, count - most)) this.give(bucket, newcomer)
    }
  }

  removed(consumer: Consumer<Event>): void {
    this.owned.delete(consumer)
    for (const bucket of this.buckets) {
      if (bucket.consumer !== consumer) continue
      bucket.consumer = undefined
      bucket.inFlight = 0
    }
  }

  assign(message: Message<Event>): Assignment<Event> {
    if (![...this.owned.keys()].some((consumer) => consumer.slots > 0)) return 'full'
    const bucket = this.bucketOf(message)
    if (bucket === undefined) return 'full'
    if (bucket.consumer === undefined) this.give(bucket, this.leastBurdened())
    if (bucket.consumer?.take(message) !== true) return 'skipped'
    bucket.inFlight += 1
    return bucket.consumer
  }

  released(consumer: Consumer<Event>, message: Message<Event>): void {
    const bucket = this.bucketOf(message)
    if (bucket?.consumer === consumer) bucket.inFlight -= 1
  }

  private bucketOf(message: Message<Event>): Bucket<Event> | undefined {
    return this.buckets[crc32(this.keyOf(message.event)) % BUCKETS]
  }

  private give(bucket: Bucket<Event>, consumer: Consumer<Event> | undefined): void {
    if (consumer === undefined) return
    if (bucket.consumer !== undefined) this.owned.set(bucket.consumer, (this.owned.get(bucket.consumer) ?? 1) - 1)
    bucket.consumer = consumer
    this.owned.set(consumer, (this.owned.get(consumer) ?? 0) + 1)
  }

  private leastBurdened(): Consumer<Event> | undefined {
    let least: [Consumer<Event>, number] | undefined
    for (const entry of this.owned) if (least === undefined || entry[1] < least[1]) least = entry
    return least?.[0]
  }
}

/** `keyOf` returns the key of a message. All messages with one key go to one pinned consumer. */
export function consumerStrategy<Event>(strategy: Strategy, keyOf: (event: Event) => string): ConsumerStrategy<Event> {
  if (strategy === 'RoundRobin') return new TakingTurns<Event>(true)
  if (strategy === 'DispatchToSingle') return new TakingTurns<Event>(false)
  return new PinnedConsumers<Event>(keyOf)
}

import { BoundedQueue } from './bounded-queue.ts'
import type { Message, SourceEvent } from './message.ts'

type Sizes = { historyBufferSize: number; liveBufferSize: number }

/**
 * The messages of a group that wait for a consumer. A group that keeps up takes events as they are appended. A group
 * that lags reads them from the log. Meanwhile the newest events wait aside until the reading reaches them.
 */
export class StreamBuffer<Event> {
  private readonly sizes: Sizes
  private retry: Message<Event>[] = []
  private readonly waiting = new Set<Message<Event>>()
  private readonly newest: BoundedQueue<SourceEvent<Event>>
  private readonly admit: (event: SourceEvent<Event>) => Message<Event>
  private live: boolean

  /** `admit` numbers an event that the group accepts. */
  constructor(sizes: Sizes, isLive: boolean, admit: (event: SourceEvent<Event>) => Message<Event>) {
    this.sizes = sizes
    this.live = isLive
    this.newest = new BoundedQueue(sizes.liveBufferSize)
    this.admit = admit
  }

  get isLive(): boolean {
    return this.live
  }

  get counts(): { read: number; retry: number; live: number } {
    return { read: this.waiting.size, retry: this.retry.length, live: this.newest.size }
  }

  canAccept(count: number): boolean {
    return this.sizes.historyBufferSize - this.retry.length - this.waiting.size > count
  }

  /** Takes an event that was just appended. If the buffer is full, the group starts to lag. */
  addLive(event: SourceEvent<Event>): void {
    if (this.live) {
      if (this.waiting.size < this.sizes.historyBufferSize) this.waiting.add(this.admit(event))
      else this.live = false
    }
    this.newest.push(event)
  }

  /** Takes an event that was read from the log, until the reading reaches the events that wait aside. */
  addRead(event: SourceEvent<Event>): void {
    if (this.live) return
    while ((this.newest.peek()?.position ?? Infinity) < event.position) this.newest.shift()
    if (this.newest.peek()?.position !== event.position) {
      this.waiting.add(this.admit(event))
      return
    }
    for (let next = this.newest.shift(); next !== undefined; next = this.newest.shift())
      this.waiting.add(this.admit(next))
    this.live = true
  }

  /**
   * The log was read to its end, and the group keeps up from here. Events that still wait aside are unreadable:
   * metadata hides them, or the filter excludes their links.
   */
  moveToLive(): void {
    while (this.newest.size > 0) this.newest.shift()
    this.live = true
  }

  /** Returns a message to the queue in the order of the source. Replayed messages come last. */
  addRetry(message: Message<Event>): void {
    const position = message.origin?.position ?? Infinity
    // From the end: a consumer that leaves returns its messages in order, and it may have any number of them.
    const before = this.retry.findLastIndex((other) => (other.origin?.position ?? Infinity) <= position)
    this.retry.splice(before + 1, 0, message)
  }

  /**
   * Offers the waiting messages, retries first. `offer` returns whether a message was sent or skipped, or that no
   * consumer has room.
   */
  drain(offer: (message: Message<Event>) => 'sent' | 'skipped' | 'full'): void {
    const skipped: Message<Event>[] = []
    let offered = 0
    for (const message of this.retry) {
      const result = offer(message)
      if (result === 'full') break
      if (result === 'skipped') skipped.push(message)
      offered += 1
    }
    const isFull = offered < this.retry.length
    // All at once: to remove one from the front moves all others.
    if (offered > skipped.length) this.retry = [...skipped, ...this.retry.slice(offered)]
    if (isFull) return
    for (const message of this.waiting) {
      const result = offer(message)
      if (result === 'full') return
      if (result === 'sent') this.waiting.delete(message)
    }
  }

  /** The waiting message that arrived first, without replayed ones. */
  lowest(): Message<Event> | undefined {
    let [lowest] = this.waiting
    for (const message of this.retry) {
      if (message.origin !== undefined && message.origin.sequence < (lowest?.origin?.sequence ?? Infinity))
        lowest = message
    }
    return lowest
  }
}

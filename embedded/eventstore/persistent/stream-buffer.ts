import { BoundedQueue } from './bounded-queue.ts'
import type { Message, SourceEvent } from './message.ts'

type Sizes = { historyBufferSize: number; liveBufferSize: number }

/**
 * What of a group waits for a consumer. A group that keeps up takes events as they are appended; one that does not reads them from
 * the log, while the newest wait aside until the reading meets them.
 */
export class StreamBuffer<Event> {
  private readonly sizes: Sizes
  private readonly retry: Message<Event>[] = []
  private readonly waiting = new Set<Message<Event>>()
  private readonly newest: BoundedQueue<SourceEvent<Event>>
  private readonly admit: (event: SourceEvent<Event>) => Message<Event>
  private live: boolean

  /** `admit` numbers an event that the group takes on. */
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

  /** Takes an event that was just appended. A group whose buffer is full falls behind with it. */
  addLive(event: SourceEvent<Event>): void {
    if (this.live) {
      if (this.waiting.size < this.sizes.historyBufferSize) this.waiting.add(this.admit(event))
      else this.live = false
    }
    this.newest.push(event)
  }

  /** Takes an event that was read from the log, until the reading meets what waits aside. */
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
   * The log was read to its end: the group keeps up from here on. Events that still wait aside are not readable: metadata
   * hides them, or the filter keeps their links out.
   */
  moveToLive(): void {
    while (this.newest.size > 0) this.newest.shift()
    this.live = true
  }

  /** Puts a message back: in the order of the source, replayed ones behind. */
  addRetry(message: Message<Event>): void {
    const position = message.origin?.position ?? Infinity
    const index = this.retry.findIndex((other) => position < (other.origin?.position ?? Infinity))
    if (index === -1) this.retry.push(message)
    else this.retry.splice(index, 0, message)
  }

  /** Offers what waits, retries first; `offer` says whether it was taken, left for later, or whether nobody can take anything. */
  drain(offer: (message: Message<Event>) => 'sent' | 'skipped' | 'full'): void {
    for (let at = 0; at < this.retry.length;) {
      const message = this.retry[at]
      const result = message === undefined ? 'full' : offer(message)
      if (result === 'full') return
      if (result === 'sent') this.retry.splice(at, 1)
      else at += 1
    }
    for (const message of this.waiting) {
      const result = offer(message)
      if (result === 'full') return
      if (result === 'sent') this.waiting.delete(message)
    }
  }

  /** The waiting message that arrived first, replayed ones aside. */
  lowest(): Message<Event> | undefined {
    let [lowest] = this.waiting
    for (const message of this.retry) {
      if (message.origin !== undefined && message.origin.sequence < (lowest?.origin?.sequence ?? Infinity))
        lowest = message
    }
    return lowest
  }
}

import type { Message } from './message.ts'

/** A consumer of a group and the free part of its buffer. */
export class Consumer<Event> {
  readonly id: string
  readonly inFlight = new Set<Message<Event>>()
  slots: number
  total = 0

  constructor(id: string, bufferSize: number) {
    this.id = id
    this.slots = bufferSize
  }

  take(message: Message<Event>): boolean {
    if (this.slots <= 0) return false
    this.slots -= 1
    this.total += 1
    this.inFlight.add(message)
    return true
  }

  /** Removes the message from this consumer, for whatever reason. */
  release(message: Message<Event>): void {
    if (this.inFlight.delete(message)) this.slots += 1
  }
}

/**
 * The consumer that takes a message. `skipped`: the only consumer that may take it has no room. `full`: no consumer has
 * room.
 */
export type Assignment<Event> = Consumer<Event> | 'skipped' | 'full'

/** Chooses consumers. `assign` hands the message to the consumer that it returns. */
export type ConsumerStrategy<Event> = {
  added(consumer: Consumer<Event>): void
  removed(consumer: Consumer<Event>): void
  assign(message: Message<Event>): Assignment<Event>
  released(consumer: Consumer<Event>, message: Message<Event>): void
}

/**
 * Round robin or dispatch to single. The next consumer is tried first after each message, or only once the first has no
 * room.
 */
export class TakingTurns<Event> implements ConsumerStrategy<Event> {
  private readonly consumers: Consumer<Event>[] = []
  private readonly changesEachTime: boolean

  constructor(changesEachTime: boolean) {
    this.changesEachTime = changesEachTime
  }

  added(consumer: Consumer<Event>): void {
    this.consumers.push(consumer)
  }

  removed(consumer: Consumer<Event>): void {
    this.consumers.splice(this.consumers.indexOf(consumer), 1)
  }

  assign(message: Message<Event>): Assignment<Event> {
    for (let tries = this.consumers.length; tries > 0; tries -= 1) {
      const [first] = this.consumers
      const isTaken = first?.take(message) === true
      if (this.changesEachTime || !isTaken) this.consumers.push(...this.consumers.splice(0, 1))
      if (first !== undefined && isTaken) return first
    }
    return 'full'
  }

  released(): void {}
}

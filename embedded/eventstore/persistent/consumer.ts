import type { Message } from './message.ts'

/** A consumer of a group and how much of its buffer is free. */
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

  /** The message is no longer this consumer's, whatever became of it. */
  release(message: Message<Event>): void {
    if (this.inFlight.delete(message)) this.slots += 1
  }
}

/** The consumer that takes a message; `skipped` when only another one than those with room may have it, `full` when none has room. */
export type Assignment<Event> = Consumer<Event> | 'skipped' | 'full'

/** Picks consumers. `assign` hands the message over to the consumer that it returns. */
export type ConsumerStrategy<Event> = {
  added(consumer: Consumer<Event>): void
  removed(consumer: Consumer<Event>): void
  assign(message: Message<Event>): Assignment<Event>
  released(consumer: Consumer<Event>, message: Message<Event>): void
}

/** Consumers in a row: after each message the next one is asked first, or only once the first has no room. */
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

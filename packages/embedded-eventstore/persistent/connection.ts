import type { ResolvedEvent } from '../streams/links.ts'
import { Measurements } from './measurements.ts'
import type { Message } from './message.ts'

/** The actions of a group on a consumer's call. */
export type ConsumerCall = {
  deliver(event: ResolvedEvent, retries: number): void
  /** The group ends the call. */
  drop(): void
}

/** A consumer as operators see it, and its call. */
export class Connection {
  readonly call: ConsumerCall
  readonly username: string
  readonly name: string
  readonly measurements: Measurements | undefined
  /** Messages delivered before the last statistics. */
  measured = 0

  constructor(call: ConsumerCall, { username, name }: { username: string; name: string }, isMeasured: boolean) {
    this.call = call
    this.username = username
    this.name = name
    this.measurements = isMeasured ? new Measurements() : undefined
  }

  deliver(message: Message<ResolvedEvent>, now: number): void {
    this.measurements?.start(message.id, now)
    this.call.deliver(message.event, message.retries)
  }
}

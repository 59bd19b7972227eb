import type { StreamRevision } from './events.ts'
import type { Position } from './positions.ts'

/** Root of what `streams/store` throws. Messages carry stream names, types and codes, never event data. */
export class EventStoreError extends Error {
  readonly code: string
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

/** Somebody else wrote first; the cached state is up to date again when this is thrown. */
export class RevisionConflictError extends EventStoreError {
  readonly stream: string
  readonly expected: StreamRevision
  readonly actual: StreamRevision
  constructor(stream: string, expected: StreamRevision, actual: StreamRevision) {
    super('revision-conflict', `${stream} is at ${actual}, not at ${expected}`)
    this.stream = stream
    this.expected = expected
    this.actual = actual
  }
}

/** The append may have happened. Repeating it with the same command id, events and revision is safe, for ever. */
export class AppendOutcomeUnknownError extends EventStoreError {
  readonly stream: string
  constructor(stream: string, attempts: number, options?: ErrorOptions) {
    super('append-outcome-unknown', `no answer told after ${attempts} attempts whether ${stream} was written`, options)
    this.stream = stream
  }
}

/** The events of one append are more than the store takes. Nothing was written. */
export class AppendTooLargeError extends EventStoreError {
  readonly bytes: number
  readonly limitBytes: number
  constructor(stream: string, bytes: number, limitBytes: number) {
    super('append-too-large', `an append of ${bytes} bytes to ${stream} exceeds ${limitBytes} bytes`)
    this.bytes = bytes
    this.limitBytes = limitBytes
  }
}

/** The stream was tombstoned: it can never be written or read again. */
export class StreamTombstonedError extends EventStoreError {
  constructor(stream: string) {
    super('stream-tombstoned', `${stream} was deleted for ever`)
  }
}

/** The store has no room for the append, of which nothing was written. Repeating it is safe, and succeeds once there is room. */
export class EventStoreFullError extends EventStoreError {
  constructor(stream: string, options?: ErrorOptions) {
    super('event-store-full', `the event store has no room to write to ${stream}`, options)
  }
}

/** The store did not answer a read in time. Reading again is safe. */
export class EventStoreUnavailableError extends EventStoreError {
  constructor(what: string, options?: ErrorOptions) {
    super('event-store-unavailable', `the event store did not answer: ${what}`, options)
  }
}

/** The store refused the call itself (rights, arguments): repeating it cannot help. */
export class EventStoreRefusedError extends EventStoreError {
  constructor(what: string, options?: ErrorOptions) {
    super('event-store-refused', `the event store refused: ${what}`, options)
  }
}

export class EventStoreClosedError extends EventStoreError {
  constructor() {
    super('event-store-closed', 'the event store access was closed')
  }
}

/** A programming error on the way in: data that its schema, its category or its PHI rules refuse. Names the place, never the value. */
export class InvalidEventError extends EventStoreError {
  readonly type: string
  readonly pointer: string
  constructor(type: string, pointer: string, problem: string) {
    super('invalid-event', `${type}${pointer === '' ? '' : ` at ${pointer}`}: ${problem}`)
    this.type = type
    this.pointer = pointer
  }
}

/** What can be told of an event without decoding it. */
export interface EventHead {
  readonly id: string
  readonly type: string
  readonly stream: string
  readonly revision: bigint
  readonly position: Position
  /** RFC 3339, UTC, milliseconds. */
  readonly recordedAt: string
}

export type UndecodableReason =
  | 'unknown-type'
  | 'malformed'
  | 'signature'
  | 'newer-version'
  | 'upcaster'
  | 'key-missing'
  | 'decryption'

/** A stored event that cannot be read, now or later, without a change to this program or to the vault. */
export class UndecodableEventError extends EventStoreError {
  readonly head: EventHead
  readonly reason: UndecodableReason
  constructor(head: EventHead, reason: UndecodableReason, options?: ErrorOptions) {
    super(`undecodable-event-${reason}`, `${head.type} ${head.revision}@${head.stream} cannot be read: ${reason}`, options)
    this.head = head
    this.reason = reason
  }
}

export class UnknownEventTypeError extends UndecodableEventError {
  constructor(head: EventHead) {
    super(head, 'unknown-type')
  }
}

/** A key that must exist is not in the vault. Never read as an erasure: only a destroyed key is one. */
export class MissingKeyError extends EventStoreError {
  constructor(kind: string, id: string) {
    super('missing-key', `the vault holds no ${kind} key ${id}`)
  }
}

import type { StreamRevision, Position } from '../../platform/kit/positions.ts'

/** Root of the errors of `engine/store`. Messages contain stream names, types and codes, never event data. */
export class EventStoreError extends Error {
  readonly code: string
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

/** Another writer was first. The cached state is up to date again when this is thrown. */
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

/** The append may have happened. Repeating it with the same command id, events and revision is always safe. */
export class AppendOutcomeUnknownError extends EventStoreError {
  readonly stream: string
  constructor(stream: string, attempts: number, options?: ErrorOptions) {
    super('append-outcome-unknown', `it is unknown after ${attempts} attempts whether ${stream} was written`, options)
    this.stream = stream
  }
}

/** The events of one append exceed the store's limit. Nothing was written. */
export class AppendTooLargeError extends EventStoreError {
  readonly bytes: number
  readonly limitBytes: number
  constructor(stream: string, bytes: number, limitBytes: number) {
    super('append-too-large', `an append of ${bytes} bytes to ${stream} exceeds ${limitBytes} bytes`)
    this.bytes = bytes
    this.limitBytes = limitBytes
  }
}

/** The stream has a tombstone: it can never be written or read again. */
export class StreamTombstonedError extends EventStoreError {
  constructor(stream: string) {
    super('stream-tombstoned', `${stream} was deleted for ever`)
  }
}

/**
 * The stream was deleted, and the server put its first new event behind the deleted ones. The signature binds an event
 * to its revision, so no reader accepts this event. The platform itself deletes no stream.
 */
export class StreamRevivedError extends EventStoreError {
  constructor(stream: string, revision: bigint) {
    super(
      'stream-revived',
      `${stream} was deleted before: its first event was put at revision ${revision}, and is not valid there`,
    )
  }
}

/**
 * The server hides events of the stream (`$tb`, `$maxCount`, `$maxAge`, a deletion). A state folded from the others
 * would be wrong. The platform never hides its own events.
 */
export class StreamTruncatedError extends EventStoreError {
  readonly isSafeToLog = true
  constructor(stream: string, revision: bigint) {
    super(
      'stream-truncated',
      `${stream} does not show its event at revision ${revision}: the metadata of the stream hides it`,
    )
  }
}

/** The store has no room for the append and wrote nothing. A repeat is safe and succeeds once there is room. */
export class EventStoreFullError extends EventStoreError {
  constructor(stream: string, options?: ErrorOptions) {
    super('event-store-full', `the event store has no room to write to ${stream}`, options)
  }
}

/** The store did not answer a read in time. A repeat is safe. */
export class EventStoreUnavailableError extends EventStoreError {
  constructor(what: string, options?: ErrorOptions) {
    super('event-store-unavailable', `the event store did not answer: ${what}`, options)
  }
}

/** The store refused the call itself (rights, arguments). A repeat cannot help. */
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

/**
 * A programming error of the writer: the schema, the category or the PHI rules refuse the data. Contains the place,
 * never the value.
 */
export class InvalidEventError extends EventStoreError {
  readonly type: string
  readonly pointer: string
  constructor(type: string, pointer: string, problem: string) {
    super('invalid-event', `${type}${pointer === '' ? '' : ` at ${pointer}`}: ${problem}`)
    this.type = type
    this.pointer = pointer
  }
}

/** The parts of an event that need no decoding. */
export interface EventHead {
  readonly id: string
  readonly type: string
  readonly stream: string
  readonly revision: bigint
  readonly position: Position
  /** RFC 3339, UTC, milliseconds. */
  readonly recordedAt: string
}

const explanations = {
  'unknown-type': 'this program does not have its type',
  malformed: 'its data or metadata is not what the platform writes',
  signature:
    'its signature does not match: it was altered, moved, replayed or renamed, or was not written by this installation',
  'newer-version': 'a newer version of the program has written it',
  upcaster: 'its old shape cannot be brought to the present one',
  'key-missing': 'the vault does not hold the key of its subject',
  decryption: 'a sealed member does not open with the key of its subject',
} as const

export type UndecodableReason = keyof typeof explanations

/** A stored event that no retry can read. Only a change to this program or to the vault helps. */
export class UndecodableEventError extends EventStoreError {
  readonly head: EventHead
  readonly reason: UndecodableReason
  readonly isSafeToLog = true
  constructor(head: EventHead, reason: UndecodableReason, options?: ErrorOptions) {
    const place = `${head.type} ${head.id} at ${head.revision}@${head.stream}`
    super(`undecodable-event-${reason}`, `${place} cannot be read: ${explanations[reason]} (${reason})`, options)
    this.head = head
    this.reason = reason
  }
}

/** Whether another program wrote the event. Channels may contain such events. */
export function isForeign({ reason }: UndecodableEventError): boolean {
  return reason === 'signature' || reason === 'malformed' || reason === 'unknown-type'
}

export class UnknownEventTypeError extends UndecodableEventError {
  constructor(head: EventHead) {
    super(head, 'unknown-type')
  }
}

/** Names, codes and counts, never event data. A logger with an allow list must list these. */
interface StoreLogFields {
  readonly category?: string
  readonly subscription?: string
  readonly attempt?: number
  readonly reason?: string
}

/** The part of a pino logger that the store uses. */
export interface StoreLogger {
  warn(fields: StoreLogFields, message: string): void
  error(fields: StoreLogFields, message: string): void
}

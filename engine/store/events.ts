import { hash } from 'node:crypto'
import type { Position, StreamRevision } from '../../platform/kit/positions.ts'

/** An event before it is stored: a literal type and its JSON data. */
export interface DomainEvent<Type extends string = string, Data = unknown> {
  readonly type: Type
  readonly data: Data
}

/** The data of an event type of a union: `DataOf<UserEvent, 'UserCreated'>`. */
export type DataOf<Event extends DomainEvent, Type extends Event['type']> = Extract<
  Event,
  { readonly type: Type }
>['data']

/**
 * Stored with the data. `signature` is the last member: an HMAC over the event's place, its data and the other members.
 */
export interface EventMetadata {
  readonly commandId: string
  readonly $correlationId: string
  readonly $causationId?: string
  readonly orgId?: string
  readonly clientId?: string
  readonly userId?: string
  /** The process whose step appended the event. Without it, a client did. Older events of processes have neither. */
  readonly process?: string
  readonly requestId?: string
  readonly traceparent?: string
  readonly schemaVersion: number
  /** The key that signed the event. Without it, the first one did. */
  readonly key?: string
  readonly signature: string
  /** Only on events of public channels: the `$all` position of the source domain event, `commit/prepare`. */
  readonly source?: string
}

/** A stored event, decoded: newest shape, PHI decrypted (null if the subject's key was destroyed). */
export interface RecordedEvent<Event extends DomainEvent = DomainEvent> {
  readonly id: string
  readonly stream: string
  readonly revision: bigint
  readonly position: Position
  /** Time of storage on the server: RFC 3339, UTC, milliseconds. */
  readonly recordedAt: string
  readonly type: Event['type']
  readonly data: Event['data']
  /** The data with its personal members as they are stored (`SealedIn`). Undefined if there are none. */
  readonly sealed?: unknown
  readonly metadata: EventMetadata
}

/** Folds events into a state. Pure. */
export interface Fold<State, Event extends DomainEvent> {
  readonly category: string
  readonly initialState: State
  readonly evolve: (state: State, event: Event) => State
  /**
   * After an event of this type the state does not depend on earlier events. A first load reads back to the last one
   * only, so the length of the stream does not matter.
   */
  readonly wholeState?: string
}

/** Applies an event that was read from a stream of the fold's category: the codec allows no other types there. */
export function evolved<State, Event extends DomainEvent>(
  fold: Fold<State, Event>,
  state: State,
  event: DomainEvent,
): State {
  return fold.evolve(state, event as Event)
}

/** One stream and the fold of its events. An aggregate makes it: `consents.of(orgId, patientId)`. */
export interface Target<State, Event extends DomainEvent> {
  readonly fold: Fold<State, Event>
  readonly stream: string
}

export interface Loaded<State> {
  readonly state: State
  readonly revision: StreamRevision
  /** `$all` position of the stream's last event; undefined if it has none. */
  readonly position: Position | undefined
}

export interface Appended {
  /** Revision of the last event written. */
  readonly revision: bigint
  /** `$all` position of the last event written. */
  readonly position: Position
}

export type JsonObject = Record<string, unknown>

/** The store returns data or metadata that is not JSON as a string or bytes. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
}

/**
 * Id of the nth event (from 0) of a command: repeating the command repeats the ids. A UUID v5 (RFC 9562) by one hash,
 * because every event of every append needs one.
 */
export function eventIdOf(commandId: string, index: number): string {
  const namespace = Buffer.from(commandId.replaceAll('-', ''), 'hex')
  if (namespace.length !== 16) throw new TypeError('a command id is not a UUID')
  const digest = hash('sha1', Buffer.concat([namespace, Buffer.from(String(index))]), 'hex')
  const variant = ((Number.parseInt(digest.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`
}

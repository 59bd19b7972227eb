import type { Position, StreamRevision } from '../../platform/kit/positions.ts'
import { v5 } from 'uuid'

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

/** Id of the nth event (from 0) of a command: repeating the command repeats the ids. */
export function eventIdOf(commandId: string, index: number): string {
  return v5(String(index), commandId)
}

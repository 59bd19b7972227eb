/** An entry of a source or of the parked stream. The group does not inspect `event` and passes it to the consumer. */
export type SourceEvent<Event> = { id: string; position: number; event: Event }

/** A message on its way through a group. */
export type Message<Event> = {
  id: string
  event: Event
  /** Number of earlier deliveries. */
  retries: number
  /** Place in the source and in the order of arrival. Undefined for a replay of a parked message. */
  origin: { position: number; sequence: number; previous: number | undefined } | undefined
  /** Revision in the parked stream. Undefined unless the message is replayed. */
  parkedRevision: number | undefined
}

/** An action that the group requests. The caller keeps their order. */
export type GroupCommand<Event> =
  /** Read the next page of the source and pass it to `pageRead`. */
  | { kind: 'read'; from: number; count: number }
  | { kind: 'deliver'; consumer: string; message: Message<Event> }
  /** End a consumer's call because the group was deleted, changed or failed. */
  | { kind: 'drop'; consumer: string }
  | { kind: 'checkpoint'; position: number }
  | { kind: 'park'; message: Message<Event>; reason: string }
  /** Read parked messages and pass them to `parkedRead`. */
  | { kind: 'read-parked'; from: number; count: number }
  /** Parked messages before this revision are finished. */
  | { kind: 'truncate-parked'; before: number }

/** A consumer's negative answer about messages. `stop` counts as handled, as on the server. */
export type NackAction = 'unknown' | 'park' | 'retry' | 'skip' | 'stop'

/** A page of the source. `filteredOut` counts the excluded events of a page without any accepted one. */
export type SourcePage<Event> = {
  events: SourceEvent<Event>[]
  next: number
  isEnd: boolean
  filteredOut?: { position: number; count: number }
}

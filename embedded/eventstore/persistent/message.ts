/** What a source or the parked stream hands in: `Event` is whatever the consumer gets, the group does not look at it. */
export type SourceEvent<Event> = { id: string; position: number; event: Event }

/** A message on its way through a group. */
export type Message<Event> = {
  id: string
  event: Event
  /** Times it was delivered before. */
  retries: number
  /** Place in the source and in the order of arrival; undefined when it was parked and is replayed. */
  origin: { position: number; sequence: number; previous: number | undefined } | undefined
  /** Revision in the parked stream; undefined unless it is replayed. */
  parkedRevision: number | undefined
}

/** What a group wants done; in this order. */
export type GroupCommand<Event> =
  /** Read the next page of the source and hand it in with `pageRead`. */
  | { kind: 'read'; from: number; count: number }
  | { kind: 'deliver'; consumer: string; message: Message<Event> }
  /** End a consumer's call: the group was deleted, changed or cannot go on. */
  | { kind: 'drop'; consumer: string }
  | { kind: 'checkpoint'; position: number }
  | { kind: 'park'; message: Message<Event>; reason: string }
  /** Read parked messages and hand them in with `parkedRead`. */
  | { kind: 'read-parked'; from: number; count: number }
  /** Parked messages before this revision are done with. */
  | { kind: 'truncate-parked'; before: number }

/** What a consumer says about messages other than that it has handled them; `stop` counts as handled, as on the server. */
export type NackAction = 'unknown' | 'park' | 'retry' | 'skip' | 'stop'

/** A page of the source. `filteredOut`: events that the filter kept out of a page without any other. */
export type SourcePage<Event> = {
  events: SourceEvent<Event>[]
  next: number
  isEnd: boolean
  filteredOut?: { position: number; count: number }
}

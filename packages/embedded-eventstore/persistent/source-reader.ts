import { type StoredEvent, frameEvents } from '../log/frame.ts'
import { eventFilter, type EventFilter } from '../streams/event-filter.ts'
import { isHiddenFromAll, readPage, viewStream } from '../streams/read-stream.ts'
import { resolveLink, type LinkReader, type ResolvedEvent } from '../streams/links.ts'
import { readLogForwards, type LoggedEvent } from '../streams/read-all.ts'
import { DELETED_STREAM } from '../streams/revision.ts'
import type { StreamStore } from '../streams/stream-store.ts'
import { eventId } from '../wire/event-message.ts'
import { recordFields } from './pinning-key.ts'
import type { GroupSettings } from './group-settings.ts'
import type { SourceEvent, SourcePage } from './message.ts'

type GroupEvent = SourceEvent<ResolvedEvent>

/** Reads the source of a group: pages of the log, and the events that are appended after the reader was created. */
export type SourceReader = {
  /**
   * A page from a revision or position, inclusive. `deleted` behind a tombstone. Throws CorruptLogError and
   * CorruptIndexError.
   */
  page(from: number, count: number): SourcePage<ResolvedEvent> | 'deleted'
  /** Calls `signal` when there may be new events. Returns a function that stops the calls. */
  onNews(signal: () => void): () => void
  /**
   * The events since the last call. An event that the filter excludes comes as `filteredOut`. Throws CorruptLogError.
   */
  news(): Iterable<GroupEvent | { filteredOut: number }>
}

const PLACES = 128
/** Largest number of events to read ahead. Above the size in bytes, reading ahead stops. */
const MOST_AHEAD = 512
const LARGEST_AHEAD = 256 << 10
/** Largest number of events that one page of a filtered group examines. Nobody else is served meanwhile. */
const MOST_CONSIDERED = 1_000

export function sourceReader(store: StreamStore, settings: GroupSettings): SourceReader {
  const { source, resolveLinks, maxCheckpointCount } = settings
  if (source.kind === 'stream') return new StreamReader(store, source.stream, resolveLinks)
  const { filter } = source
  const accepts = filter === undefined ? undefined : eventFilter(filter.on, filter.regex, filter.prefixes)
  return new AllReader(store, accepts, resolveLinks, maxCheckpointCount)
}

/** A page of one stream for a group, oldest first. Also used for parked messages. */
export function readStreamPage(
  store: StreamStore,
  stream: string,
  from: number,
  count: number,
  resolveLinks: boolean,
): SourcePage<ResolvedEvent> | 'deleted' {
  const view = viewStream(store, stream)
  if (view.kind === 'deleted') return 'deleted'
  if (view.kind === 'missing') return { events: [], next: from, isEnd: true }
  const { events, stoppedAt } = readSome(store, stream, from, count)
  return pageOf(store, events, { from, count, head: view.head, stoppedAt, resolveLinks })
}

/**
 * Up to `count` events. Events that are too old end it, because they may be many, and nobody else is served meanwhile.
 * The rest then begins at `stoppedAt`.
 */
function readSome(
  store: StreamStore,
  stream: string,
  from: number,
  count: number,
): { events: StoredEvent[]; stoppedAt: number | undefined } {
  const events: StoredEvent[] = []
  let next = from
  while (events.length < count) {
    const page = readPage(store, stream, next, count - events.length)
    if (page === undefined) break
    if (page.events.length === 0) return { events, stoppedAt: page.next }
    next = page.next
    events.push(...page.events)
  }
  return { events, stoppedAt: undefined }
}

function pageOf(
  store: StreamStore,
  events: StoredEvent[],
  read: { from: number; count: number; head: number; stoppedAt: number | undefined; resolveLinks: boolean },
): SourcePage<ResolvedEvent> {
  const last = events.at(-1)
  const isShort = events.length < read.count
  const found = events.map((event) => asGroupEvent(store, event, event.revision, read.resolveLinks, 'reading'))
  if (isShort && read.stoppedAt !== undefined) return { events: found, next: read.stoppedAt, isEnd: false }
  return {
    events: found,
    next: isShort ? Math.max(read.from, read.head + 1) : (last?.revision ?? read.from) + 1,
    isEnd: isShort || (last !== undefined && last.revision >= read.head),
  }
}

function asGroupEvent(
  store: StreamStore,
  stored: StoredEvent,
  position: number,
  resolveLinks: boolean,
  reader: LinkReader,
): GroupEvent {
  const event = resolveLinks ? resolveLink(store, stored, reader) : { event: stored, link: undefined }
  return { id: eventId(stored.message, stored.layout), position, event }
}

class StreamReader implements SourceReader {
  private readonly store: StreamStore
  private readonly stream: string
  private readonly resolveLinks: boolean
  private next: number
  /** Events read ahead. An append of many events is parsed once, not once for each page. */
  private ahead: { from: number; events: StoredEvent[] } = { from: -1, events: [] }
  private readAhead = 0

  constructor(store: StreamStore, stream: string, resolveLinks: boolean) {
    this.store = store
    this.stream = stream
    this.resolveLinks = resolveLinks
    this.next = store.index.head(stream) + 1
  }

  page(from: number, count: number): SourcePage<ResolvedEvent> | 'deleted' {
    const view = viewStream(this.store, this.stream)
    if (view.kind !== 'readable') return readStreamPage(this.store, this.stream, from, count, this.resolveLinks)
    const { ahead } = this
    const isAhead =
      ahead.from === from &&
      ahead.events.length >= count &&
      (ahead.events[0]?.revision ?? 0) >= view.first &&
      view.metadata.maxAge === undefined
    const { events, stoppedAt } = isAhead ? { ...ahead, stoppedAt: undefined } : this.refill(from, count)
    const taken = events.slice(0, count)
    this.ahead = { from: (taken.at(-1)?.revision ?? from) + 1, events: events.slice(count) }
    return pageOf(this.store, taken, { from, count, head: view.head, stoppedAt, resolveLinks: this.resolveLinks })
  }

  private refill(from: number, count: number): ReturnType<typeof readSome> {
    const wanted = Math.max(count, this.readAhead)
    const read = readSome(this.store, this.stream, from, wanted)
    const size = read.events.reduce((sum, { message }) => sum + message.length, 0)
    this.readAhead = size > LARGEST_AHEAD ? 0 : Math.min(2 * wanted, MOST_AHEAD)
    return read
  }

  onNews(signal: () => void): () => void {
    return this.store.onStream(this.stream, signal)
  }

  /** Events as they were appended, including those that the stream's metadata hides, and the tombstone. */
  *news(): Generator<GroupEvent> {
    for (;;) {
      const places = this.next > DELETED_STREAM ? [] : this.store.index.placesFrom(this.stream, this.next, PLACES)
      if (places.length === 0) return
      for (const place of places) {
        for (const event of this.store.eventsAt(this.stream, place).events) {
          if (event.revision < this.next) continue
          this.next = event.revision + 1
          yield asGroupEvent(this.store, event, event.revision, this.resolveLinks, 'live')
        }
      }
    }
  }
}

class AllReader implements SourceReader {
  private readonly store: StreamStore
  private readonly filter: EventFilter | undefined
  private readonly resolveLinks: boolean
  private readonly window: number
  private at: number
  /** Events that an earlier page read from the log and did not return. */
  private rest: { from: number; events: LoggedEvent[] } = { from: -1, events: [] }

  constructor(store: StreamStore, filter: EventFilter | undefined, resolveLinks: boolean, window: number) {
    this.store = store
    this.filter = filter
    this.resolveLinks = resolveLinks
    this.window = window
    this.at = store.log.durableEnd
  }

  page(from: number, count: number): SourcePage<ResolvedEvent> {
    const events: GroupEvent[] = []
    const window = this.filter === undefined ? Infinity : Math.min(Math.max(count, this.window), MOST_CONSIDERED)
    let considered = 0
    let next = from
    for (const chunk of this.chunks(from)) {
      for (const [index, logged] of chunk.entries()) {
        considered += 1
        next = logged.event.position + 1
        if (this.accepts(logged.frame.stream, logged.event))
          events.push(asGroupEvent(this.store, logged.event, logged.event.position, this.resolveLinks, 'reading'))
        if (events.length < count && considered < window) continue
        this.rest = { from: next, events: chunk.slice(index + 1) }
        return this.pageOf(events, next, considered, false)
      }
    }
    return this.pageOf(events, next, considered, true)
  }

  onNews(signal: () => void): () => void {
    return this.store.onDurable(signal)
  }

  *news(): Generator<GroupEvent | { filteredOut: number }> {
    for (;;) {
      const frames = this.store.log.readFrames(this.at)
      const last = frames.at(-1)
      if (last === undefined) return
      this.at = last.end
      for (const frame of frames) {
        if (isHiddenFromAll(frame.stream)) continue
        for (const event of frameEvents(frame)) {
          const appended = asGroupEvent(this.store, event, event.position, this.resolveLinks, 'live')
          yield this.acceptsLive(frame.stream, event, appended.event.event) ? appended : { filteredOut: event.position }
        }
      }
    }
  }

  private *chunks(from: number): Generator<LoggedEvent[]> {
    const { rest } = this
    this.rest = { from: -1, events: [] }
    const last = rest.events.at(-1)
    if (rest.from === from && last !== undefined) yield rest.events
    yield* readLogForwards(this.store, rest.from === from && last !== undefined ? last.event.position + 1 : from)
  }

  private pageOf(events: GroupEvent[], next: number, considered: number, isEnd: boolean): SourcePage<ResolvedEvent> {
    const isPassedOver = this.filter !== undefined && events.length === 0 && considered > 0
    return isPassedOver
      ? { events, next, isEnd, filteredOut: { position: next - 1, count: considered } }
      : { events, next, isEnd }
  }

  private accepts(stream: string, event: StoredEvent): boolean {
    return !isHiddenFromAll(stream) && (this.filter === undefined || this.filter.accepts(stream, event))
  }

  /**
   * As on the server: the filter tests a link from the log itself, but for a live link it tests the event that the link
   * points to.
   */
  private acceptsLive(stream: string, stored: StoredEvent, resolved: StoredEvent | undefined): boolean {
    if (this.filter === undefined || resolved === undefined || resolved === stored) return this.accepts(stream, stored)
    return this.accepts(recordFields(resolved).stream, resolved)
  }
}

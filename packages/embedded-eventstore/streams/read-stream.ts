import { CorruptIndexError } from '../log/log-errors.ts'
import type { StoredEvent } from '../log/frame.ts'
import { DELETED_STREAM, NO_STREAM } from './revision.ts'
import {
  firstReadableRevision,
  isHeldInMemory,
  isMetastream,
  isSoftDeleted,
  originalStreamOf,
  type StreamMetadata,
} from './stream-metadata.ts'
import type { StreamStore } from './stream-store.ts'

/** The result of a lookup: no stream, a tombstone, or a stream with its bounds. */
export type StreamView =
  | { kind: 'missing' }
  | { kind: 'deleted' }
  | { kind: 'readable'; head: number; first: number; metadata: StreamMetadata }

/** Appends in one lookup. */
const PLACES = 256
/** Approximate number of events in a page, and bytes of their appends. */
const PAGE = 128
const PAGE_BYTES = 512 << 10

/** Looks up a stream as readers see it. */
export function viewStream(store: StreamStore, stream: string): StreamView {
  if (isHeldInMemory(stream)) return { kind: 'missing' }
  const head = store.index.head(stream)
  if (head === DELETED_STREAM) return { kind: 'deleted' }
  if (isMetastream(stream) && store.index.head(originalStreamOf(stream)) === DELETED_STREAM) return { kind: 'deleted' }
  const metadata = store.durableMetadata(stream)
  if (head === NO_STREAM || isSoftDeleted(metadata)) return { kind: 'missing' }
  return { kind: 'readable', head, first: firstReadableRevision(metadata, head), metadata }
}

/**
 * Pages of a stream's events from `from` on, oldest first, at most `count` events. Ends at the head, which is read
 * again for each page. Throws CorruptLogError and CorruptIndexError.
 */
export function* readForwards(
  store: StreamStore,
  stream: string,
  from: number,
  count: number,
): Generator<StoredEvent[]> {
  let revision = from
  let left = count
  while (left > 0) {
    const page = readPage(store, stream, revision, left)
    if (page === undefined) return
    revision = page.next
    left -= page.events.length
    yield page.events
  }
}

/**
 * One page of them, at most `left` events, and the revision from which to continue if it has fewer. It is empty if its
 * events are too old. Undefined behind the head.
 */
export function readPage(
  store: StreamStore,
  stream: string,
  from: number,
  left: number,
): { events: StoredEvent[]; next: number } | undefined {
  const view = viewStream(store, stream)
  if (view.kind !== 'readable') return undefined
  let revision = Math.max(from, view.first)
  if (revision > view.head) return undefined
  const page: StoredEvent[] = []
  let bytes = 0
  const oldest = oldestReadable(view.metadata)
  const places = store.index.placesFrom(stream, revision, PLACES)
  if (places.length === 0) throw new CorruptIndexError(stream, `revision ${revision} is missing`)
  for (const place of places) {
    if (page.length >= PAGE || bytes >= PAGE_BYTES || revision > view.head) break
    if (place.revision > revision) throw new CorruptIndexError(stream, `revision ${revision} is missing`)
    const { frame, events } = store.eventsAt(stream, place)
    bytes += frame.bytes.length
    for (const event of events) {
      if (event.revision < revision || event.revision > view.head) continue
      revision = event.revision + 1
      if (frame.createdAt >= oldest && page.length < left) page.push(event)
    }
  }
  return { events: page, next: revision }
}

/**
 * Pages of a stream's events back from `from`, newest first, at most `count` events. Throws CorruptLogError and
 * CorruptIndexError.
 */
export function* readBackwards(
  store: StreamStore,
  stream: string,
  from: number,
  count: number,
): Generator<StoredEvent[]> {
  const view = viewStream(store, stream)
  if (view.kind !== 'readable') return
  const oldest = oldestReadable(view.metadata)
  let revision = Math.min(from, view.head)
  let left = count
  while (left > 0 && revision >= view.first) {
    const page: StoredEvent[] = []
    let bytes = 0
    const places = store.index.placesBackFrom(stream, revision, PLACES)
    if (places.length === 0) throw new CorruptIndexError(stream, `revision ${revision} is missing`)
    for (const place of places) {
      if (page.length >= PAGE || bytes >= PAGE_BYTES || revision < view.first) break
      if (place.revision + place.count <= revision)
        throw new CorruptIndexError(stream, `revision ${revision} is missing`)
      const { frame, events } = store.eventsAt(stream, place)
      bytes += frame.bytes.length
      for (const event of events.toReversed()) {
        if (event.revision > revision || event.revision < view.first) continue
        if (frame.createdAt >= oldest && page.length < left) page.push(event)
      }
      revision = place.revision - 1
    }
    left -= page.length
    yield page
    if (page.length === 0 && revision < view.first) return
  }
}

/**
 * The event that readers find at a revision. -1 stands for the last one. Undefined when it is gone. Throws
 * CorruptLogError.
 */
export function readEvent(store: StreamStore, stream: string, revision: number): StoredEvent | undefined {
  const view = viewStream(store, stream)
  if (view.kind !== 'readable') return undefined
  const wanted = revision === -1 ? view.head : revision
  if (wanted < view.first || wanted > view.head) return undefined
  const place = store.index.placesFrom(stream, wanted, 1)[0]
  if (place === undefined || place.revision > wanted)
    throw new CorruptIndexError(stream, `revision ${wanted} is missing`)
  const { frame, events } = store.eventsAt(stream, place)
  return frame.createdAt < oldestReadable(view.metadata) ? undefined : events[wanted - place.revision]
}

/** Earliest readable creation time, in milliseconds. */
function oldestReadable(metadata: StreamMetadata): number {
  return metadata.maxAge === undefined ? -Infinity : Date.now() - metadata.maxAge
}

const GROUPS_ON_ALL = '$persistentsubscription-$all::'

/** Streams that `$all` omits. Otherwise groups on `$all` would receive their own records without end. */
export function isHiddenFromAll(stream: string): boolean {
  return stream.startsWith(GROUPS_ON_ALL) && (stream.endsWith('-checkpoint') || stream.endsWith('-parked'))
}

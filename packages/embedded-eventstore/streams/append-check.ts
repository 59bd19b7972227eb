import type { ProposedEvent } from '../wire/append-request.ts'
import { eventId } from '../wire/event-message.ts'
import { readEvent } from './read-stream.ts'
import { DELETED_STREAM, NO_POSITION, NO_STREAM, type ExpectedRevision } from './revision.ts'
import { isSoftDeleted, metastreamOf } from './stream-metadata.ts'
import type { StreamStore } from './stream-store.ts'

/**
 * The outcome of an append, by the rules of the server's index writer. `position` is NO_POSITION when readers cannot
 * find the event.
 */
export type AppendDecision =
  | { kind: 'write'; head: number; undelete: boolean }
  | { kind: 'repeated'; revision: number; position: number }
  | { kind: 'wrong-expected-version'; head: number }
  | { kind: 'deleted' }

type IdentifiedEvent = Pick<ProposedEvent, 'id'>

/** Decides on an append by expected revision and event ids. Throws CorruptLogError. */
export function checkAppend(
  store: StreamStore,
  stream: string,
  expected: ExpectedRevision,
  events: IdentifiedEvent[],
): AppendDecision {
  const head = store.head(stream)
  if (head === DELETED_STREAM) return { kind: 'deleted' }
  const undelete = (): boolean => isSoftDeleted(store.writtenMetadata(stream))
  if (expected === 'stream_exists') {
    if (undelete()) return { kind: 'deleted' }
    if (head === NO_STREAM && store.head(metastreamOf(stream)) === NO_STREAM)
      return { kind: 'wrong-expected-version', head }
  }
  if (expected === 'any' || expected === 'stream_exists') return checkRecentIds(store, stream, head, events, undelete)
  const expectedHead = expected === 'no_stream' ? NO_STREAM : expected
  if (expectedHead > head) return { kind: 'wrong-expected-version', head }
  if (expectedHead === head) return { kind: 'write', head, undelete: undelete() }
  return checkWritten(store, stream, head, expectedHead, events, undelete)
}

/** Without an expected revision there is no place to compare, so only ids in memory are recognised. */
function checkRecentIds(
  store: StreamStore,
  stream: string,
  head: number,
  events: IdentifiedEvent[],
  undelete: () => boolean,
): AppendDecision {
  let last
  for (const [index, event] of events.entries()) {
    const known = store.recentEvent(event.id, stream)
    if (known === undefined)
      return index === 0 ? { kind: 'write', head, undelete: undelete() } : { kind: 'wrong-expected-version', head }
    last = known
  }
  if (last === undefined) return { kind: 'write', head, undelete: undelete() }
  return repeated(store, stream, last.revision, last.position)
}

/**
 * The expected revision is lower than the head. The append is a repeat if the events at these revisions have its ids.
 */
function checkWritten(
  store: StreamStore,
  stream: string,
  head: number,
  expectedHead: number,
  events: IdentifiedEvent[],
  undelete: () => boolean,
): AppendDecision {
  let revision = expectedHead
  let position = 0
  for (const event of events) {
    revision += 1
    const written = writtenEvent(store, stream, revision, event.id)
    if (written === undefined) {
      const isFirst = revision === expectedHead + 1
      if (isFirst && expectedHead === NO_STREAM && undelete()) return { kind: 'write', head, undelete: true }
      return { kind: 'wrong-expected-version', head }
    }
    position = written
  }
  if (revision === expectedHead) return { kind: 'wrong-expected-version', head }
  return repeated(store, stream, revision, position)
}

/** An original that is still being written always has its position, because readers cannot look for it yet. */
function repeated(store: StreamStore, stream: string, revision: number, position: number): AppendDecision {
  const isHidden = revision <= store.index.head(stream) && readEvent(store, stream, revision) === undefined
  return { kind: 'repeated', revision, position: isHidden ? NO_POSITION : position }
}

/** Position of the event at this revision, if it has this id. */
function writtenEvent(store: StreamStore, stream: string, revision: number, id: string): number | undefined {
  const recent = store.recentEvent(id, stream)
  if (recent?.revision === revision) return recent.position
  const place = store.index.placesBackFrom(stream, revision, 1)[0]
  if (place === undefined || place.revision + place.count <= revision) return undefined
  const event = store.eventsAt(stream, place).events[revision - place.revision]
  return event !== undefined && eventId(event.message, event.layout) === id ? event.position : undefined
}

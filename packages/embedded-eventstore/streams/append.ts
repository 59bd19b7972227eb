import { randomUUID } from 'node:crypto'
import { eventData, frameEvents, type Frame } from '../log/frame.ts'
import { NoRoomError } from '../log/log-errors.ts'
import type { ProposedEvent } from '../wire/append-request.ts'
import { checkAppend } from './append-check.ts'
import { readLogBackwards } from './read-all.ts'
import { DELETED_STREAM, NO_STREAM, type ExpectedRevision } from './revision.ts'
import {
  METADATA_EVENT,
  NO_METADATA,
  SOFT_DELETED_JSON,
  isMetastream,
  isSoftDeleted,
  metastreamOf,
  originalStreamOf,
  parseStreamMetadata,
  withTruncateBefore,
  type StreamMetadata,
} from './stream-metadata.ts'
import type { StreamStore } from './stream-store.ts'

/**
 * Outcome of a write. `revision` is NO_STREAM after an empty append to a missing stream. `position` is that of the last
 * event. It is NO_POSITION for a repeat of an event that readers cannot find any more.
 */
export type WriteOutcome =
  | { kind: 'success'; revision: number; position: number }
  | { kind: 'wrong-expected-version'; head: number }
  | { kind: 'deleted' }

const STREAM_DELETED_EVENT = '$streamDeleted'
const NO_BYTES = Buffer.alloc(0)

/**
 * Appends to a stream. `done` is called once the outcome is durable. A refusal waits too, because it depends on appends
 * that are still being synced. Throws CorruptLogError when the decision needs damaged data, and NoRoomError when the
 * disk is full. An append without events shows whether it is.
 */
export function append(
  store: StreamStore,
  stream: string,
  expected: ExpectedRevision,
  events: ProposedEvent[],
  done: (outcome: WriteOutcome) => void,
): void {
  if (isDeletedMetastream(store, stream)) return answer(store, { kind: 'deleted' }, done)
  const decision = checkAppend(store, stream, expected, events)
  if (decision.kind !== 'write') {
    return answer(store, decision.kind === 'repeated' ? { ...decision, kind: 'success' } : decision, done)
  }
  if (events.length === 0 && store.isFull) throw new NoRoomError()
  const undeletedByMetadata = isMetastream(stream) && isSoftDeleted(store.writtenMetadata(originalStreamOf(stream)))
  // Events that revive a deleted stream stay hidden until the metadata after them is written. Both fit, or neither is
  // written.
  if (decision.undelete || undeletedByMetadata)
    store.requireRoom(1 + Number(decision.undelete) + Number(undeletedByMetadata))
  const outcome: WriteOutcome = {
    kind: 'success',
    revision: decision.head + events.length,
    position: store.log.appendedEnd,
  }
  if (events.length > 0) outcome.position = store.write(stream, decision.head + 1, events, ignore)
  if (decision.undelete) undelete(store, stream, decision.head + 1)
  if (undeletedByMetadata) undelete(store, originalStreamOf(stream), store.head(originalStreamOf(stream)) + 1)
  answer(store, outcome, done)
}

/** Hides all events of a stream. New appends continue its revisions. */
export function softDelete(
  store: StreamStore,
  stream: string,
  expected: ExpectedRevision,
  done: (outcome: WriteOutcome) => void,
): void {
  if (isDeletedMetastream(store, stream)) return answer(store, { kind: 'deleted' }, done)
  const event = metadataEvent(Buffer.from(SOFT_DELETED_JSON))
  const decision = checkAppend(store, stream, expected, [event])
  if (decision.kind === 'wrong-expected-version' || decision.kind === 'deleted') return answer(store, decision, done)
  const metastream = metastreamOf(stream)
  const metaHead = store.head(metastream)
  if (metaHead === DELETED_STREAM) return answer(store, { kind: 'deleted' }, done)
  if (store.head(stream) === NO_STREAM && metaHead === NO_STREAM)
    return answer(store, { kind: 'wrong-expected-version', head: NO_STREAM }, done)
  const position = store.write(metastream, metaHead + 1, [event], ignore)
  answer(store, { kind: 'success', revision: metaHead + 1, position }, done)
}

/** Deletes a stream permanently. */
export function tombstone(
  store: StreamStore,
  stream: string,
  expected: ExpectedRevision,
  done: (outcome: WriteOutcome) => void,
): void {
  if (isDeletedMetastream(store, stream)) return answer(store, { kind: 'deleted' }, done)
  const event = {
    id: randomUUID(),
    type: STREAM_DELETED_EVENT,
    contentType: undefined,
    data: NO_BYTES,
    metadata: NO_BYTES,
  }
  const decision = checkAppend(store, stream, expected, [event])
  if (decision.kind === 'wrong-expected-version' || decision.kind === 'deleted') return answer(store, decision, done)
  const position = store.write(stream, DELETED_STREAM, [event], ignore)
  answer(store, { kind: 'success', revision: DELETED_STREAM, position }, done)
}

/**
 * An append or new metadata that revives a soft-deleted stream is followed by metadata with the first readable
 * revision. A node killed between the two would hide the new events, or show the deleted ones. The start therefore
 * writes the missing metadata.
 */
export function finishInterruptedUndelete(store: StreamStore): void {
  const frame = store.lastRecovered
  if (frame === undefined || frame.firstRevision === DELETED_STREAM) return
  if (!isMetastream(frame.stream)) {
    if (isSoftDeleted(store.writtenMetadata(frame.stream))) undelete(store, frame.stream, frame.firstRevision)
    return
  }
  const stream = originalStreamOf(frame.stream)
  const isFirstOfTwo = replacesSoftDelete(store, frame) && streamBefore(store, frame) !== stream
  if (isFirstOfTwo) undelete(store, stream, store.head(stream) + 1)
}

function replacesSoftDelete(store: StreamStore, frame: Frame): boolean {
  const place = store.index.placesBackFrom(frame.stream, frame.firstRevision - 1, 1)[0]
  if (place === undefined || isSoftDeleted(metadataIn(frame))) return false
  return isSoftDeleted(metadataIn(store.eventsAt(frame.stream, place).frame))
}

function metadataIn(frame: Frame): StreamMetadata {
  const last = frameEvents(frame).at(-1)
  return last?.json === true ? parseStreamMetadata(eventData(last)) : NO_METADATA
}

/** Stream of the append directly before a frame. */
function streamBefore(store: StreamStore, frame: Frame): string | undefined {
  const [newest] = readLogBackwards(store, frame.position)
  return newest?.[0]?.frame.stream
}

/** Uses the bytes of the last metadata event, as the server does. Its content type does not matter here. */
function undelete(store: StreamStore, stream: string, firstRevision: number): void {
  const json = withTruncateBefore(store.writtenMetadataData(stream) ?? NO_BYTES, firstRevision)
  const metastream = metastreamOf(stream)
  if (json !== undefined) store.write(metastream, store.head(metastream) + 1, [metadataEvent(json)], ignore, true)
}

function isDeletedMetastream(store: StreamStore, stream: string): boolean {
  return isMetastream(stream) && store.head(originalStreamOf(stream)) === DELETED_STREAM
}

function metadataEvent(json: Buffer): ProposedEvent {
  return { id: randomUUID(), type: METADATA_EVENT, contentType: 'application/json', data: json, metadata: NO_BYTES }
}

function answer(store: StreamStore, outcome: WriteOutcome, done: (outcome: WriteOutcome) => void): void {
  store.log.whenDurable(() => done(outcome))
}

function ignore(): void {}

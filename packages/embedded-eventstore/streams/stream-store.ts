import { errorCode } from '../error-codes.ts'
import { openIndex, removeIndex, type StreamIndex } from '../index/stream-index.ts'
import { CorruptLogError, NoRoomError } from '../log/log-errors.ts'
import { EventLog } from '../log/event-log.ts'
import { eventData, frameEvents, type Frame, type StoredEvent } from '../log/frame.ts'
import type { ProposedEvent } from '../wire/append-request.ts'
import { isJson } from '../wire/event-message.ts'
import { LruMap } from './lru-map.ts'
import { NO_STREAM } from './revision.ts'
import {
  METASTREAM_METADATA,
  NO_METADATA,
  isMetastream,
  metastreamOf,
  parseStreamMetadata,
  type StreamMetadata,
} from './stream-metadata.ts'

const HEADS_KEPT = 25_000
const METADATA_KEPT = 20_000
const IDS_KEPT = 32_768

/** A recently appended event, durable or not. */
export type RecentEvent = { stream: string; revision: number; position: number }

/**
 * The findings of the start: the torn end of the log, appends that were missing in the index, and whether the whole
 * index was built again.
 */
export type Recovery = { tornBytes: number; appendsReadAgain: number; isIndexBuilt: boolean }

/** An append as it was read. */
type ReadAppend = { frame: Frame; events: StoredEvent[] }

/** The last event of a metadata stream: parsed, as bytes, and the end of the log after it. */
type WrittenMetadata = { metadata: StreamMetadata; data: Buffer; end: number }

/**
 * Opens the store of a folder. Builds an index again that SQLite finds damaged. Throws CorruptLogError when an
 * acknowledged append is damaged in the part that the start reads. `onFailure` is called when nothing can be written
 * any more.
 */
export function openStore(folder: string, onFailure: (error: Error) => void): StreamStore {
  try {
    return new StreamStore(folder, openIndex(folder), onFailure)
  } catch (error) {
    if (!isSqliteError(error)) throw error
    removeIndex(folder)
    return new StreamStore(folder, openIndex(folder), onFailure)
  }
}

function isSqliteError(error: unknown): boolean {
  return errorCode(error) === 'ERR_SQLITE_ERROR'
}

/** The log, the index, and the writer's state about events that are not durable yet. */
export class StreamStore {
  readonly log: EventLog
  readonly index: StreamIndex
  private readonly heads: LruMap<string, { revision: number; end: number }>
  private readonly written: LruMap<string, WrittenMetadata>
  private readonly recentIds = new LruMap<string, RecentEvent>(IDS_KEPT)
  /** A repeat, and a reader of links, ask for one append once for each of its events. */
  private lastRead: ReadAppend | undefined
  private readonly listeners = new Set<(frames: Frame[]) => void>()
  private readonly streamListeners = new Map<string, Set<() => void>>()

  constructor(folder: string, index: StreamIndex, onFailure: (error: Error) => void) {
    this.index = index
    let lastRecovered: Frame | undefined
    let appendsReadAgain = 0
    let isIndexBuilt = false
    try {
      this.log = new EventLog({
        folder: `${folder}/log`,
        indexed: index.stored(),
        onIdentified: (identity, isIndexTrue) => {
          isIndexBuilt = !isIndexTrue
          index.belongTo(identity, isIndexTrue)
        },
        onRecovered: (frame) => {
          index.add(frame)
          lastRecovered = frame
          appendsReadAgain += 1
        },
        onDurable: (frames) => this.publish(frames),
        onFailure,
      })
    } catch (error) {
      index.abandon()
      throw error
    }
    this.heads = new LruMap(HEADS_KEPT, (entry) => entry.end <= this.log.durableEnd)
    this.written = new LruMap(METADATA_KEPT, (entry) => entry.end <= this.log.durableEnd)
    this.lastRecovered = lastRecovered
    this.recovery = { tornBytes: this.log.tornBytes, appendsReadAgain, isIndexBuilt }
  }

  /** The last append behind the index that the start found, if any. */
  readonly lastRecovered: Frame | undefined
  readonly recovery: Recovery

  /** Revision of the last event appended to a stream, durable or not. */
  head(stream: string): number {
    return this.heads.get(stream)?.revision ?? this.index.head(stream)
  }

  /** Last written metadata, durable or not. */
  writtenMetadata(stream: string): StreamMetadata {
    if (isMetastream(stream)) return METASTREAM_METADATA
    return this.written.get(stream)?.metadata ?? this.durableMetadata(stream)
  }

  /** Data of the last event in the stream's metadata stream, with any content type. */
  writtenMetadataData(stream: string): Buffer | undefined {
    return this.written.get(stream)?.data ?? this.readMetadata(stream)?.data
  }

  /** Metadata that applies to readers. */
  durableMetadata(stream: string): StreamMetadata {
    if (isMetastream(stream)) return METASTREAM_METADATA
    if (!this.index.metastreams.has(metastreamOf(stream))) return NO_METADATA
    const cached = this.written.get(stream)
    if (cached !== undefined && cached.end <= this.log.durableEnd) return cached.metadata
    const read = this.readMetadata(stream)
    if (read !== undefined && cached === undefined) this.written.set(stream, read)
    return read?.metadata ?? NO_METADATA
  }

  /**
   * A recently appended event of this stream by its id. If an id occurs twice, the first one counts, as on the server.
   */
  recentEvent(id: string, stream: string): RecentEvent | undefined {
    const event = this.recentIds.get(id)
    return event?.stream === stream ? event : undefined
  }

  /**
   * Appends without any check. Calls `done` once durable. Returns the position of the last event. Throws NoRoomError.
   * `isFollowUp`: the write completes the one before it and may use the room left for that.
   */
  write(stream: string, firstRevision: number, events: ProposedEvent[], done: () => void, isFollowUp = false): number {
    if (this.index.isOverfull && !isFollowUp) throw new NoRoomError()
    const positions = this.log.append({ stream, firstRevision, createdAt: Date.now(), events }, done, isFollowUp)
    for (const [offset, event] of events.entries()) {
      const isKnown = this.recentIds.get(event.id) !== undefined
      if (!isKnown)
        this.recentIds.set(event.id, { stream, revision: firstRevision + offset, position: positions[offset] ?? 0 })
    }
    const end = this.log.appendedEnd
    this.heads.set(stream, { revision: firstRevision + events.length - 1, end })
    const last = events.at(-1)
    if (last !== undefined && isMetastream(stream)) this.rememberMetadata(stream.slice(2), last, end)
    return positions.at(-1) ?? 0
  }

  /** Whether appends are refused for lack of room. Tries to make room again first. */
  get isFull(): boolean {
    return this.index.isOverfull || this.log.isFull
  }

  /** Like that of the log, but the index needs room too. */
  requireRoom(appends = 1): void {
    if (this.index.isOverfull) throw new NoRoomError()
    this.log.requireRoom(appends)
  }

  /** The events of the append that contains a revision. Throws CorruptLogError when log and index disagree. */
  eventsAt(stream: string, place: { revision: number; position: number }): ReadAppend {
    const read = this.lastRead?.frame.position === place.position ? this.lastRead : this.readAppend(place.position)
    if (read.frame.stream !== stream || read.frame.firstRevision !== place.revision)
      throw new CorruptLogError('the index points to another append', place.position)
    return read
  }

  private readAppend(position: number): ReadAppend {
    const frame = this.log.readFrame(position)
    this.lastRead = { frame, events: frameEvents(frame) }
    return this.lastRead
  }

  /** Calls back with the new frames whenever more of the log is durable. Returns a function that stops the calls. */
  onDurable(listener: (frames: Frame[]) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Calls back whenever a stream's durable head moves. */
  onStream(stream: string, listener: () => void): () => void {
    const listeners = this.streamListeners.get(stream) ?? new Set()
    this.streamListeners.set(stream, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.streamListeners.get(stream) === listeners) this.streamListeners.delete(stream)
    }
  }

  async close(): Promise<void> {
    await this.log.close()
    this.index.close()
  }

  private publish(frames: Frame[]): void {
    for (const frame of frames) {
      this.index.add(frame)
      const listeners = this.streamListeners.get(frame.stream)
      if (listeners !== undefined) for (const listener of listeners) listener()
    }
    for (const listener of this.listeners) listener(frames)
  }

  private readMetadata(stream: string): WrittenMetadata | undefined {
    const metastream = metastreamOf(stream)
    if (!this.index.metastreams.has(metastream)) return undefined
    const head = this.index.head(metastream)
    const place = head === NO_STREAM ? undefined : this.index.placesBackFrom(metastream, head, 1)[0]
    const last = place === undefined ? undefined : this.eventsAt(metastream, place).events.at(-1)
    return last === undefined ? undefined : writtenMetadata(Buffer.from(eventData(last)), last.json, 0)
  }

  private rememberMetadata(stream: string, event: ProposedEvent, end: number): void {
    this.written.set(stream, writtenMetadata(Buffer.from(event.data), isJson(event), end))
  }
}

/** Only events with content type JSON take effect. */
function writtenMetadata(data: Buffer, isJsonEvent: boolean, end: number): WrittenMetadata {
  return { metadata: isJsonEvent ? parseStreamMetadata(data) : NO_METADATA, data, end }
}

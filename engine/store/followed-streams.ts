import { LRUCache } from 'lru-cache'
import type { RecordedEvent } from './events.ts'
import { passes } from './log-head.ts'
import { sizeOfState, type FollowedTime } from './state-cache.ts'
import type { EventFilter } from './subscription-options.ts'
import { comparePositions, type Position, type StreamRevision } from '../../platform/kit/positions.ts'

/** A read of the log that reports what it gets, so that the states of this process follow it. */
export interface FollowingRead {
  /** Whether it has caught up with its node, and is connected. */
  setLive(isLive: boolean): void
  /** Called before a handler gets the events. */
  took(events: readonly RecordedEvent[]): void
  /** The read passes over an event of this stream, at this revision. */
  passedOver(stream: string, revision: bigint): void
  /** While a handler has events, the read takes no others. */
  setHandling(isHandling: boolean): void
}

/** A handler that takes longer holds up the read, so the states no longer follow, in milliseconds. */
const mostHandlingMs = 1_000
/** Events of channels that are kept for the steps that they make due, and their bytes. */
const keptEvents = { max: 500, maxSize: 4 * 1024 * 1024 }

interface Read {
  readonly filter: EventFilter
  isLive: boolean
  handlingSinceMs: number | undefined
  /** Of the last event that it has got, live or not. It begins behind this place. */
  position: Position | 'start'
}

interface FollowedStates {
  take(event: RecordedEvent): void
  drop(stream: string): void
}

/**
 * What the live read of the log in this process has shown. States in the cache advance with it. So a read of a stream
 * that may be as old as the projections of this process needs no call, and a caller may wait for an event of a stream.
 */
export class FollowedStreams {
  readonly #states: () => FollowedStates
  readonly #reads = new Set<Read>()
  readonly #watchers = new Map<string, Set<() => void>>()
  /** Calls under way by stream, with the newest revision that the read has shown meanwhile. */
  readonly #underWay = new Map<string, { calls: number; newest: bigint }>()
  readonly #kept = new LRUCache<string, RecordedEvent>({
    ...keptEvents,
    sizeCalculation: ({ data }) => sizeOfState(data),
  })
  #current: Read | undefined
  #time: FollowedTime = 0

  /** @param states the cache of the states, which may be replaced */
  constructor(states: () => FollowedStates) {
    this.#states = states
  }

  /** Begins to follow a read of the events behind `from`. */
  follow(filter: EventFilter, from: Position | 'start', signal: AbortSignal): FollowingRead {
    const read: Read = { filter, isLive: false, handlingSinceMs: undefined, position: from }
    this.#reads.add(read)
    signal.addEventListener('abort', () => this.#forget(read), { once: true })
    return {
      setLive: (isLive) => {
        read.isLive = isLive && !signal.aborted
        this.#choose()
      },
      took: (events) => {
        for (const event of events) this.#take(read, event)
      },
      passedOver: (stream, revision) => {
        if (read === this.#current) {
          this.#noteShown(stream, revision)
          this.#states().drop(stream)
        }
        this.#tell(stream)
      },
      setHandling: (isHandling) => {
        read.handlingSinceMs = isHandling ? performance.now() : undefined
      },
    }
  }

  /**
   * The time in which the states of a stream are followed now. Undefined if nothing follows them.
   * @param past a position that the read must have passed
   */
  timeOf(stream: string, past?: Position): FollowedTime | undefined {
    const read = this.#current
    if (read === undefined || !passes(read.filter, stream)) return undefined
    if (past !== undefined && !hasReached(read.position, past)) return undefined
    const handlingMs = read.handlingSinceMs === undefined ? 0 : performance.now() - read.handlingSinceMs
    return handlingMs > mostHandlingMs ? undefined : this.#time
  }

  /**
   * Comes before a read or an append of a stream. The returned function comes after it. It returns the time in which
   * the result is followed: undefined if the live read has shown a later event, because that event will not come again.
   * An append may repeat an old one. So the place of its last event must be one that the read had not reached before.
   */
  begin(stream: string): (revision: StreamRevision, appendedAt?: Position) => FollowedTime | undefined {
    const before = this.timeOf(stream)
    const shown = this.#current?.position ?? 'start'
    const call = this.#underWay.get(stream) ?? { calls: 0, newest: -1n }
    call.calls += 1
    this.#underWay.set(stream, call)
    return (revision, appendedAt) => {
      call.calls -= 1
      if (call.calls === 0) this.#underWay.delete(stream)
      const isOld = appendedAt !== undefined && hasReached(shown, appendedAt)
      const isNewest = revision !== 'no_stream' && call.newest <= revision && !isOld
      return isNewest && before === this.timeOf(stream) ? before : undefined
    }
  }

  /**
   * Calls the listener after each event of a stream that this process appends or its live read shows.
   * @returns how to stop; undefined if nothing follows the stream
   */
  watch(stream: string, listener: () => void): (() => void) | undefined {
    if (this.timeOf(stream) === undefined) return undefined
    const watchers = this.#watchers.get(stream) ?? new Set()
    watchers.add(listener)
    this.#watchers.set(stream, watchers)
    return () => {
      watchers.delete(listener)
      if (watchers.size === 0) this.#watchers.delete(stream)
    }
  }

  /** This process has appended to the stream. */
  appended(stream: string): void {
    this.#tell(stream)
  }

  /** An event of a channel that the live read has shown a short time ago. */
  recent(stream: string, revision: bigint): RecordedEvent | undefined {
    return this.#kept.get(placeOf(stream, revision))
  }

  #take(read: Read, event: RecordedEvent): void {
    const { stream, revision, position } = event
    read.position = position
    if (read !== this.#current) return
    if (!stream.includes('-')) this.#kept.set(placeOf(stream, revision), event)
    this.#noteShown(stream, revision)
    this.#states().take(event)
    this.#tell(stream)
  }

  #noteShown(stream: string, revision: bigint): void {
    const call = this.#underWay.get(stream)
    if (call !== undefined && call.newest < revision) call.newest = revision
  }

  #tell(stream: string): void {
    for (const listener of this.#watchers.get(stream) ?? []) listener()
  }

  #forget(read: Read): void {
    read.isLive = false
    this.#reads.delete(read)
    this.#choose()
  }

  /** Another read may lack events that the one before has shown. So a change begins another time. */
  #choose(): void {
    if (this.#current?.isLive === true) return
    const next = [...this.#reads].find(({ isLive }) => isLive)
    if (next === this.#current) return
    this.#current = next
    this.#time += 1
  }
}

function hasReached(position: Position | 'start', place: Position): boolean {
  return position !== 'start' && comparePositions(position, place) >= 0
}

function placeOf(stream: string, revision: bigint): string {
  return `${stream}@${revision}`
}

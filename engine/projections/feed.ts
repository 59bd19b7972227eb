import { comparePositions, formatPosition, type Position } from '../../platform/kit/positions.ts'
import type { EventHead } from '../store/errors.ts'
import type { RecordedEvent } from '../store/events.ts'
import { asHandled, handlerOf, partOf } from './batch-writer.ts'
import type { BatchPart } from './checkpoint-moves.ts'
import type { Handler, Projector } from './projector.ts'

/** One projector that this instance runs. */
export interface Member {
  readonly projector: Projector
  /** Everything up to here is written, or reaches the writer before any later event. */
  position: Position
  /** False after a failure, a stop, or the loss of its lock. */
  isActive: boolean
  /** Id of the copy it was prepared for. */
  readonly copyId: string
  /** Positions of the events that an operator let this projector skip, as `formatPosition` writes them. */
  readonly skipped?: ReadonlySet<string>
}

/** Positions of the events that a projector skips, by its name. */
export type Skips = (projector: string) => Promise<ReadonlySet<string>>

/** Whether an operator let the member skip the event. */
export function isSkipped({ skipped }: Member, { position }: { readonly position: Position }): boolean {
  return skipped !== undefined && skipped.size > 0 && skipped.has(formatPosition(position))
}

/** One member's events of a batch. `part` is undefined if a handler threw. Then each event is tried alone. */
export interface MemberBatch {
  readonly member: Member
  readonly events: readonly RecordedEvent[]
  readonly part: BatchPart | undefined
}

export interface FeedListener {
  /** Milliseconds for which events may wait for others, if they make nothing urgent. Default 0. */
  readonly gatherMs?: number | undefined
  /** Whether somebody waits until the tables contain a position from the first to the last of these. */
  readonly isAwaited?: ((first: Position, last: Position) => boolean) | undefined
  /** Writes one batch at a time. Must not throw. */
  write(batches: readonly MemberBatch[]): Promise<void>
  /** The writer has written every event of the log. */
  caughtUp(feed: Feed): void
  /** An event that cannot be decoded. The caller finds the projectors that need it. Must not throw. */
  undecodable(feed: Feed, head: EventHead, error: Error): Promise<void>
}

/** Most events that are held back for patient projectors, and the longest time for it, in milliseconds. */
const mostHeld = 1_000
const heldMs = 250
/** A batch of this many events waits for no others. */
const mostGathered = 50

/**
 * One read of `$all`, and the projectors that it feeds. A member may be ahead of its feed: it skips events that it has.
 * So two feeds can merge at any time: the members of the feed ahead move to the one behind.
 */
export class Feed {
  position: Position
  readonly members = new Set<Member>()
  readonly abort = new AbortController()
  readonly #listener: FeedListener
  #writing: Promise<void> = Promise.resolve()
  /** Events that wait for others. */
  #held: RecordedEvent[] = []
  #timer: NodeJS.Timeout | undefined
  /** When the held events are written at the latest, on the monotonic clock. */
  #heldUntilMs = Infinity
  /** Resolves when everything that was handed over is taken, in the order of the log, and pauses have ended. */
  #taken: Promise<void> = Promise.resolve()

  constructor(members: readonly Member[], listener: FeedListener) {
    this.#listener = listener
    for (const member of members) this.members.add(member)
    this.position = members
      .map((member) => member.position)
      .reduce((first, second) => (comparePositions(first, second) <= 0 ? first : second))
  }

  /** Takes the next events. Resolves after they are folded and the previous batch is written, or at once if they are held. */
  takeEvents(events: readonly RecordedEvent[]): Promise<void> {
    this.#held.push(...events)
    const mayWaitMs = Math.min(...events.map((event) => this.#mayWaitMs(event)))
    if (this.#held.length >= mostHeld || mayWaitMs === 0 || this.#isAwaited()) return this.#flush()
    const untilMs = performance.now() + mayWaitMs
    if (untilMs >= this.#heldUntilMs) return Promise.resolve()
    clearTimeout(this.#timer)
    this.#heldUntilMs = untilMs
    this.#timer = setTimeout(() => void this.#flush(), mayWaitMs)
    return Promise.resolve()
  }

  /** Somebody waits for an event. If it is still to come, what is held waits for it. */
  hurry(): void {
    if (this.#isAwaited()) void this.#flush()
  }

  /** Records that there is no wanted event up to this position. */
  takeCheckpoint(position: Position): Promise<void> {
    void this.#flush()
    return this.#next([], position)
  }

  async takeCaughtUp(): Promise<void> {
    await this.written()
    this.#listener.caughtUp(this)
  }

  takeUndecodable(head: EventHead, error: Error): Promise<void> {
    this.#taken = this.#flush().then(async () => {
      await this.#writing
      await this.#listener.undecodable(this, head, error)
      // A feed that has not passed the event must not give its members to this one.
      this.#moveTo(head.position)
    })
    return this.#taken
  }

  /** Pauses the feed between two events, after all writes. The returned function continues it. */
  async pause(): Promise<() => void> {
    const { promise: resumed, resolve: resume } = Promise.withResolvers<void>()
    const before = this.#flush()
    this.#taken = before.then(() => resumed)
    await before
    await this.#writing
    return resume
  }

  /** Resolves when there is nothing left to write. */
  async written(): Promise<void> {
    await this.#flush()
    await this.#writing
  }

  #isAwaited(): boolean {
    const [first, last] = [this.#held[0], this.#held.at(-1)]
    if (first === undefined || last === undefined) return false
    return this.#listener.isAwaited?.(first.position, last.position) === true
  }

  /** How long the event may wait for others: by the least patient of the projectors that want it. */
  #mayWaitMs(event: RecordedEvent): number {
    const gatherMs = this.#held.length < mostGathered ? (this.#listener.gatherMs ?? 0) : 0
    let [isWanted, isPatient] = [false, true]
    for (const { projector } of this.members) {
      const handler = handlerOf(projector, event.type)
      if (handler === undefined) continue
      isWanted = true
      isPatient &&= projector.isPatient === true
      if (gatherMs > 0 && isUrgent(projector, handler, asHandled(projector, event))) return 0
    }
    return isWanted && isPatient ? heldMs : gatherMs
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#heldUntilMs = Infinity
    const events = this.#held
    this.#held = []
    const last = events.at(-1)
    return last === undefined ? this.#taken : this.#next(events, last.position)
  }

  #next(events: readonly RecordedEvent[], to: Position): Promise<void> {
    this.#taken = this.#taken.then(() => this.#hand(events, to))
    return this.#taken
  }

  async #hand(events: readonly RecordedEvent[], to: Position): Promise<void> {
    if (this.abort.signal.aborted) return
    const types = [...new Set(events.map(({ type }) => type))]
    const batches = [...this.members]
      .filter((member) => member.isActive && comparePositions(member.position, to) < 0)
      .map((member) => batchOf(member, events, types, to))
    for (const { member } of batches) member.position = to
    this.#moveTo(to)
    // One batch is written while the next one is read and folded.
    await this.#writing
    this.#writing = this.#listener.write(batches)
  }

  #moveTo(position: Position): void {
    if (comparePositions(this.position, position) < 0) this.position = position
  }
}

/** The work of each projector, with the traces of the events that it handles. */
export function* tracedWork(batches: readonly MemberBatch[]) {
  for (const { member, events } of batches) {
    const handled = events.filter(({ type }) => handlerOf(member.projector, type) !== undefined)
    const traceparents = handled.map(({ metadata }) => metadata.traceparent)
    yield { name: `project ${member.projector.name}` as const, traceparents }
  }
}

/** A handler that throws is called again for the batch. */
function isUrgent(projector: Projector, handler: Handler, event: RecordedEvent): boolean {
  if (projector.isUrgent === undefined) return false
  try {
    return projector.isUrgent(handler(event), event)
  } catch {
    return true
  }
}

function wants({ projector }: Member, types: readonly string[]): boolean {
  return types.some((type) => handlerOf(projector, type) !== undefined)
}

function batchOf(
  member: Member,
  events: readonly RecordedEvent[],
  types: readonly string[],
  to: Position,
): MemberBatch {
  const { projector, position: from } = member
  const [first] = events
  const isAhead = first !== undefined && comparePositions(first.position, from) <= 0
  const isPlain = !isAhead && (member.skipped === undefined || member.skipped.size === 0)
  const own = isPlain
    ? events
    : events.filter((event) => comparePositions(event.position, from) > 0 && !isSkipped(member, event))
  try {
    return { member, events: own, part: partOf(projector, wants(member, types) ? own : [], from, to) }
  } catch {
    return { member, events: own, part: undefined }
  }
}

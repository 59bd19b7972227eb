import type { EventStore } from '../store/event-store.ts'
import type { EventHead } from '../store/errors.ts'
import { comparePositions, formatPosition, type Position } from '../../platform/kit/positions.ts'
import type { EventFilter } from '../store/subscription-options.ts'
import { Feed, type Member, type MemberBatch } from './feed.ts'

export interface LogReadingsOptions {
  readonly eventStore: Pick<EventStore, 'subscribeToAll'>
  readonly filter: EventFilter
  readonly batchSize: number
  readonly gatherMs?: number | undefined
}

export interface ReadingListener {
  /** Writes one batch of a read at a time. Must not throw. */
  write(batches: readonly MemberBatch[]): Promise<void>
  /** These members have processed the whole log. Called again whenever a read catches up. */
  caughtUp(members: readonly Member[]): Promise<void>
  /** An event that cannot be decoded, and the members that have not passed it. All earlier events are written. */
  undecodable(members: readonly Member[], head: EventHead, error: Error): Promise<void>
  /** The read of these members ended with an error. They belong to no read now. */
  broke(members: readonly Member[], error: unknown): void
}

/**
 * The reads of the log: one live read for every projector that has caught up, and one for each group that lags. A
 * lagging read joins the live one when it catches up.
 */
export class LogReadings {
  readonly #options: LogReadingsOptions
  readonly #listener: ReadingListener
  readonly #feeds = new Set<Feed>()
  readonly #feedOf = new Map<Member, Feed>()
  /** What callers wait for. */
  readonly #awaited = new Set<{ readonly position: Position }>()
  #live: Feed | undefined
  #joining: Promise<void> = Promise.resolve()

  constructor(options: LogReadingsOptions, listener: ReadingListener) {
    this.#options = options
    this.#listener = listener
  }

  /** Starts to feed members. Members at the same position share a read. */
  add(members: readonly Member[]): void {
    for (const group of Map.groupBy(members, ({ position }) => formatPosition(position)).values()) this.#open(group)
  }

  /** Stops feeding a member. Its pending events are dropped unless a write is in progress. */
  remove(member: Member): void {
    const feed = this.#feedOf.get(member)
    member.isActive = false
    this.#feedOf.delete(member)
    feed?.members.delete(member)
    if (feed !== undefined && feed.members.size === 0) this.#end(feed)
  }

  /** Writes the event at the position, and those before it, without a pause. Until the returned function is called. */
  hurry(position: Position): () => void {
    const awaited = { position }
    this.#awaited.add(awaited)
    for (const feed of this.#feeds) feed.hurry()
    return () => void this.#awaited.delete(awaited)
  }

  /** Resolves when all events handed over so far are written. */
  async written(): Promise<void> {
    await Promise.all([...this.#feeds].map((feed) => feed.written()))
  }

  /** Ends all reads. Resolves when all events they handed over are written. */
  async close(): Promise<void> {
    for (const feed of this.#feeds) feed.abort.abort()
    await this.written()
  }

  #open(members: readonly Member[]): void {
    const { eventStore, filter, batchSize, gatherMs } = this.#options
    const feed = new Feed(members, {
      gatherMs,
      isAwaited: (first, last) =>
        [...this.#awaited].some(
          ({ position }) => comparePositions(first, position) <= 0 && comparePositions(position, last) <= 0,
        ),
      write: (batches) => this.#listener.write(batches),
      caughtUp: (reached) => this.#queueMerge(reached, () => this.#mergeCaughtUp(reached)),
      undecodable: (reader, head, error) => {
        const behind = [...reader.members].filter(
          (member) => member.isActive && comparePositions(member.position, head.position) < 0,
        )
        return this.#listener.undecodable(behind, head, error)
      },
    })
    for (const member of members) this.#feedOf.set(member, feed)
    this.#feeds.add(feed)
    const subscription = eventStore.subscribeToAll({
      name: `projections ${members.map(({ projector }) => projector.name).join(' ')}`,
      filter,
      from: feed.position,
      isFollowed: true,
      batchSize,
      onBatch: (events) => feed.takeEvents(events),
      onCheckpoint: (position) => feed.takeCheckpoint(position),
      onCaughtUp: () => feed.takeCaughtUp(),
      onUndecodable: (head, error) => feed.takeUndecodable(head, error),
      signal: feed.abort.signal,
    })
    subscription.ended.then(
      () => this.#end(feed),
      (error: unknown) => this.#break(feed, error),
    )
  }

  /** The first read to catch up becomes the live one. Later ones merge with it. */
  async #mergeCaughtUp(feed: Feed): Promise<void> {
    if (feed.abort.signal.aborted) return
    if (this.#live === undefined || this.#live === feed) this.#live = feed
    else await this.#join(this.#live, feed)
    if (this.#live !== undefined) await this.#listener.caughtUp([...this.#live.members])
  }

  async #join(live: Feed, joining: Feed): Promise<void> {
    const resume = [await live.pause(), await joining.pause()]
    const readers = [live, joining].filter((feed) => !feed.abort.signal.aborted)
    if (readers.length === 2) this.#live = this.#united(live, joining)
    else this.#live = readers[0]
    for (const open of resume) open()
  }

  /** The read that is behind continues with the members of both. The members ahead skip events that they have. */
  #united(live: Feed, joining: Feed): Feed {
    const [behind, ahead] = comparePositions(live.position, joining.position) <= 0 ? [live, joining] : [joining, live]
    for (const member of ahead.members) {
      behind.members.add(member)
      this.#feedOf.set(member, behind)
    }
    ahead.members.clear()
    this.#end(ahead)
    return behind
  }

  #break(feed: Feed, error: unknown): void {
    const members = [...feed.members]
    this.#end(feed)
    for (const member of members) this.remove(member)
    if (members.length > 0) this.#listener.broke(members, error)
  }

  #end(feed: Feed): void {
    feed.abort.abort()
    if (this.#live === feed) this.#live = undefined
    void feed.written().then(() => this.#feeds.delete(feed))
  }

  /** One merge at a time, in parallel with the reads themselves. */
  #queueMerge(feed: Feed, work: () => Promise<void>): void {
    this.#joining = this.#joining.then(work).catch((error: unknown) => this.#break(feed, error))
  }
}

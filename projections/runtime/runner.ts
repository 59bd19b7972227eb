import type { Pool } from 'pg'
import type { Logger } from '../../platform/logging.ts'
import { backoffMs, pause } from '../../streams/store/backoff.ts'
import { UnknownEventTypeError, type EventHead } from '../../streams/store/errors.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import { comparePositions, type Position } from '../../streams/store/positions.ts'
import type { EventFilter } from '../../streams/store/subscription-options.ts'
import { AdvisoryLocks } from './advisory-locks.ts'
import { beat, failureOf, markCaughtUp, requestResume, requestStop, type ProjectionFailure, type StoredStatus } from './checkpoints.ts'
import { databaseFailure } from './database-errors.ts'
import { Feed, listensTo, type Member } from './feed.ts'
import type { Projector } from './projector.ts'
import { assertNames, ensureRuntimeSchema, prepareProjector } from './schema.ts'
import { ShareWriter } from './share-writer.ts'
import { inTransaction } from './transaction.ts'

export interface ProjectionRunnerOptions {
  readonly eventStore: Pick<EventStore, 'subscribeToAll'>
  readonly pool: Pool
  readonly projectors: readonly Projector[]
  /** Everything that any projector may listen to. */
  readonly filter: EventFilter
  readonly logger: Logger
  /** Most events of one batch. Default 1,000. */
  readonly batchSize?: number
  /** How often this instance says that it is alive, and looks for locks to take over, in milliseconds. Default 1,000. */
  readonly heartbeatMs?: number
  /** The read models' database does not exist any more; called once. */
  readonly onDatabaseGone?: () => void
}

/** `standby`: another instance runs it, or this one is about to. */
export type ProjectorState = 'standby' | 'catching-up' | 'live' | 'failed' | 'stopped'

export interface ProjectorStatus {
  readonly name: string
  readonly version: number
  readonly state: ProjectorState
  /** Up to where this instance has written; undefined when it has not run it. */
  readonly position: Position | undefined
  readonly failure: ProjectionFailure | undefined
}

/** Some projectors' checkpoints are now stored at `position`; `changed` names the tables written to, `schema.table`. */
export interface Advance {
  readonly projectors: readonly string[]
  readonly position: Position
  readonly changed: readonly string[]
}

interface Slot {
  readonly projector: Projector
  state: ProjectorState
  position: Position | undefined
  failure: ProjectionFailure | undefined
  member: Member | undefined
  feed: Feed | undefined
}

const backoff = { firstMs: 100, mostMs: 5_000 }

/** Runs projectors: one live reading of the log for all, another one for each group that lags. See `README.md`. */
export function createProjectionRunner(options: ProjectionRunnerOptions): ProjectionRunner {
  return new ProjectionRunner(options)
}

export class ProjectionRunner {
  readonly #options: ProjectionRunnerOptions
  readonly #slots = new Map<string, Slot>()
  readonly #closing = new AbortController()
  readonly #writer: ShareWriter
  readonly #listeners = new Set<(advance: Advance) => void>()
  readonly #feeds = new Set<Feed>()
  #live: Feed | undefined
  #locks: AdvisoryLocks | undefined
  #supervision: Promise<void> = Promise.resolve()
  #turn: Promise<unknown> = Promise.resolve()
  #wake = new AbortController()
  #hasLooked = false
  #isDatabaseGone = false

  constructor(options: ProjectionRunnerOptions) {
    this.#options = options
    for (const projector of options.projectors) {
      assertNames(projector)
      if (this.#slots.has(projector.name)) throw new TypeError(`two projectors are named ${projector.name}`)
      const empty = { position: undefined, failure: undefined, member: undefined, feed: undefined }
      this.#slots.set(projector.name, { projector, state: 'standby', ...empty })
    }
    const listener = {
      written: (members: readonly Member[], to: Position, changed: readonly string[]) => this.#written(members, to, changed),
      lost: (member: Member) => this.#leave(this.#slotOf(member), 'standby'),
      failed: (member: Member, failure: ProjectionFailure) => this.#failed(member, failure),
      databaseGone: () => this.#databaseGone(),
    }
    this.#writer = new ShareWriter(options.pool, options.logger, listener, this.#closing.signal)
  }

  /** Begins; `caughtUp` tells when the read models are up to date. */
  start(): void {
    this.#supervision = this.#supervise()
  }

  /** Waits for the batch in hand, then gives the locks to whoever stands by. */
  async close(): Promise<void> {
    for (const feed of this.#feeds) feed.abort.abort()
    await within(5_000, Promise.all([...this.#feeds].map((feed) => feed.settled())))
    this.#closing.abort()
    this.#wake.abort()
    await this.#supervision
    await Promise.all([...this.#feeds].map((feed) => feed.ended))
    this.#locks?.close()
  }

  status(): ProjectorStatus[] {
    return [...this.#slots.values()].map(({ projector: { name, version }, state, position, failure }) => ({ name, version, state, position, failure }))
  }

  /** True once no projector of this instance is catching up; stopped and failed ones are not waited for. */
  isCaughtUp(): boolean {
    return this.#hasLooked && [...this.#slots.values()].every(({ state, member }) => state !== 'catching-up' && (state !== 'standby' || member === undefined))
  }

  /** Resolves when `isCaughtUp` for the first time, rejects when the runner closes before. */
  async caughtUp(pollMs = 20): Promise<void> {
    while (!this.isCaughtUp()) {
      if (this.#closing.signal.aborted) throw new Error('the projection runner was closed')
      await pause(pollMs, this.#closing.signal)
    }
  }

  /** Stops a projector, here and elsewhere, until it is resumed. False when no instance has ever run it. */
  async stop(name: string): Promise<boolean> {
    const feed = this.#slots.get(name)?.feed
    const isKnown = await requestStop(this.#options.pool, name)
    await this.#inTurn(() => this.#look())
    if (feed !== undefined) await within(5_000, feed.settled())
    return isKnown
  }

  /** Lets a stopped or failed projector go on from its checkpoint. False when it is neither. */
  async resume(name: string): Promise<boolean> {
    const isResumed = await requestResume(this.#options.pool, name)
    await this.#inTurn(() => this.#look())
    return isResumed
  }

  /** Tells of every stored batch, after its commit. Returns how to stop listening. */
  onAdvance(listener: (advance: Advance) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async #supervise(): Promise<void> {
    const { heartbeatMs = 1_000, logger } = this.#options
    let failures = 0
    while (!this.#closing.signal.aborted) {
      this.#wake = new AbortController()
      try {
        await this.#inTurn(() => this.#look())
        failures = 0
      } catch (error) {
        failures += 1
        if (databaseFailure(error) === 'gone') this.#databaseGone()
        logger.warn({ component: 'projections', attempt: failures, err: error }, 'read-model database is away')
        this.#locks?.close()
        this.#loseLocks()
      }
      const waitMs = failures === 0 ? heartbeatMs : backoffMs(backoff, failures)
      await pause(waitMs, AbortSignal.any([this.#closing.signal, this.#wake.signal]))
    }
  }

  /** Says that we are alive, does what operators asked for, and takes the projectors that nobody runs. */
  async #look(): Promise<void> {
    if (this.#closing.signal.aborted) return
    const locks = await this.#openLocks()
    const slots = [...this.#slots.values()]
    const before = new Map(slots.map((slot) => [slot, slot.state]))
    const owned = slots.filter(({ projector }) => locks.holds(projector.name))
    const wanted = await beat(locks.client, owned.map(({ projector }) => projector.name))
    for (const slot of owned) this.#obey(slot, before.get(slot), wanted.get(slot.projector.name))
    await this.#finishRebuilds(wanted)
    const joining: Member[] = []
    for (const slot of slots) {
      if (slot.state !== 'standby' || slot.member !== undefined || !(await locks.tryAcquire(slot.projector.name))) continue
      const member = await this.#prepare(slot)
      if (member !== undefined) joining.push(member)
    }
    if (joining.length > 0) await beat(locks.client, joining.map(({ projector }) => projector.name))
    for (const group of groupByPosition(joining)) this.#openFeed(group)
    this.#hasLooked = true
  }

  async #openLocks(): Promise<AdvisoryLocks> {
    if (this.#locks !== undefined && !this.#locks.isLost) return this.#locks
    await ensureRuntimeSchema(this.#options.pool)
    this.#locks = await AdvisoryLocks.open(this.#options.pool, () => {
      this.#loseLocks()
      this.#wake.abort()
    })
    return this.#locks
  }

  #obey(slot: Slot, before: ProjectorState | undefined, wanted: StoredStatus | undefined): void {
    const isRunning = slot.state === 'catching-up' || slot.state === 'live'
    if (wanted === 'stopped' && isRunning) this.#leave(slot, 'stopped')
    const wasHalted = before === 'stopped' || before === 'failed'
    const shallRun = wanted === 'running' || wanted === 'rebuilding'
    if (wasHalted && slot.state === before && shallRun) this.#leave(slot, 'standby')
  }

  async #prepare(slot: Slot): Promise<Member | undefined> {
    const { projector } = slot
    const prepared = await inTransaction(this.#options.pool, (client) => prepareProjector(client, projector))
    slot.position = prepared.position
    slot.failure = undefined
    if (prepared.status === 'stopped') {
      slot.state = 'stopped'
      return undefined
    }
    slot.state = 'catching-up'
    slot.member = { projector, position: prepared.position, isActive: true }
    return slot.member
  }

  #openFeed(members: readonly Member[]): void {
    const feed = new Feed(members, {
      write: (batches) => this.#writer.write(batches),
      caughtUp: (reached) => void this.#inTurn(() => this.#settleCaughtUp(reached)).catch((error: unknown) => this.#feedBroke(reached, error)),
      undecodable: (reader, head, error) => this.#undecodable(reader, head, error),
    })
    for (const member of members) this.#slotOf(member).feed = feed
    this.#feeds.add(feed)
    const { batchSize = 1_000, filter, eventStore } = this.#options
    const subscription = eventStore.subscribeToAll({
      name: `projections ${members.map(({ projector }) => projector.name).join(' ')}`,
      filter,
      from: feed.position,
      batchSize,
      onBatch: (events) => feed.takeEvents(events),
      onCheckpoint: (position) => feed.takeCheckpoint(position),
      onCaughtUp: () => feed.takeCaughtUp(),
      onUndecodable: (head, error) => feed.takeUndecodable(head, error),
      signal: feed.abort.signal,
    })
    feed.ended = subscription.ended.then(
      () => this.#forget(feed),
      (error: unknown) => this.#feedBroke(feed, error),
    )
  }

  /** The first feed to catch up is the live one; a later one and the live one become one, the one behind. */
  async #settleCaughtUp(feed: Feed): Promise<void> {
    if (feed.abort.signal.aborted) return
    const live = this.#live
    if (live === undefined || live === feed) this.#live = feed
    else await this.#merge(live, feed)
    for (const slot of this.#slots.values()) {
      if (slot.feed === this.#live && slot.state === 'catching-up') slot.state = 'live'
    }
    await this.#finishRebuilds(undefined)
  }

  async #merge(live: Feed, joining: Feed): Promise<void> {
    const resume = [await live.pause(), await joining.pause()]
    const readers = [live, joining].filter((feed) => !feed.abort.signal.aborted)
    if (readers.length === 2) this.#joinMembers(live, joining)
    else this.#live = readers[0]
    for (const open of resume) open()
  }

  #joinMembers(live: Feed, joining: Feed): void {
    const [behind, ahead] = comparePositions(live.position, joining.position) <= 0 ? [live, joining] : [joining, live]
    for (const member of ahead.members) {
      behind.members.add(member)
      this.#slotOf(member).feed = behind
    }
    ahead.members.clear()
    ahead.abort.abort()
    this.#live = behind
  }

  async #finishRebuilds(stored: ReadonlyMap<string, StoredStatus> | undefined): Promise<void> {
    const names = [...this.#slots.values()].filter(({ state }) => state === 'live').map(({ projector }) => projector.name)
    const rebuilt = stored === undefined ? names : names.filter((name) => stored.get(name) === 'rebuilding')
    if (rebuilt.length > 0) await markCaughtUp(this.#options.pool, rebuilt)
  }

  /** Whoever listens to an event that cannot be read stops there. A type that nobody knows stops all, except on a channel, where others publish too. */
  async #undecodable(feed: Feed, head: EventHead, error: Error): Promise<void> {
    const reason = error instanceof UnknownEventTypeError ? 'unknown event type' : `undecodable: ${'reason' in error ? String(error.reason) : error.name}`
    const isChannel = head.stream.endsWith('.events')
    const behind = [...feed.members].filter((member) => member.isActive && comparePositions(member.position, head.position) < 0)
    const isForAll = error instanceof UnknownEventTypeError && !isChannel
    const concerned = behind.filter((member) => isForAll || listensTo(member.projector, head))
    for (const member of concerned) await this.#writer.fail(member, failureOf(head, reason))
  }

  #written(members: readonly Member[], position: Position, changed: readonly string[]): void {
    const projectors = members.map(({ projector }) => projector.name)
    for (const member of members) this.#slotOf(member).position = position
    for (const listener of this.#listeners) listener({ projectors, position, changed })
  }

  #failed(member: Member, failure: ProjectionFailure): void {
    const slot = this.#slotOf(member)
    this.#leave(slot, 'failed')
    slot.failure = failure
  }

  /** Takes a projector out of its feed; what is in flight for it is dropped. */
  #leave(slot: Slot, state: ProjectorState): void {
    slot.state = state
    if (slot.member === undefined) return
    slot.member.isActive = false
    slot.feed?.members.delete(slot.member)
    if (slot.feed?.members.size === 0) slot.feed.abort.abort()
    if (slot.feed?.members.size === 0 && this.#live === slot.feed) this.#live = undefined
    slot.member = undefined
    slot.feed = undefined
  }

  /** The connection that held the locks is gone: somebody else may run our projectors from now on. */
  #loseLocks(): void {
    this.#locks = undefined
    for (const slot of this.#slots.values()) this.#leave(slot, 'standby')
  }

  #feedBroke(feed: Feed, error: unknown): void {
    this.#forget(feed)
    if (feed.abort.signal.aborted) return
    feed.abort.abort()
    this.#options.logger.error({ component: 'projections', err: error }, 'reading the log ended, beginning again at the checkpoint')
    for (const member of feed.members) this.#leave(this.#slotOf(member), 'standby')
  }

  #forget(feed: Feed): void {
    this.#feeds.delete(feed)
    if (this.#live === feed) this.#live = undefined
  }

  #databaseGone(): void {
    if (this.#isDatabaseGone) return
    this.#isDatabaseGone = true
    this.#options.onDatabaseGone?.()
  }

  #slotOf(member: Member): Slot {
    const slot = this.#slots.get(member.projector.name)
    if (slot === undefined) throw new TypeError(`no projector ${member.projector.name}`)
    return slot
  }

  /** One look or merge at a time. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => undefined)
    return done
  }
}

async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  await Promise.race([work, pause(limitMs, over.signal)])
  over.abort()
}

function groupByPosition(members: readonly Member[]): Member[][] {
  const groups = new Map<string, Member[]>()
  for (const member of members) {
    const place = `${member.position.commit}/${member.position.prepare}`
    groups.set(place, [...(groups.get(place) ?? []), member])
  }
  return [...groups.values()]
}

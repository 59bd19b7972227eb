import {
  appendExactly,
  appendLimitBytes,
  refusesForWantOfRoom,
  type AppendTiming,
  type AppendWatch,
} from './appending.ts'
import { categoryOf, type Catalogue } from './catalogue.ts'
import { createCodec, type Codec, type EncodedAppend, type RawEvent } from './codec.ts'
import { EventKeys } from './event-keys.ts'
import { isSystemEvent, type StoredEvent, type StoredRecord } from './decoding.ts'
import { connectEventStore, type EventStoreConnection } from './connection.ts'
import {
  isForeign,
  type StoreLogger,
  AppendTooLargeError,
  EventStoreClosedError,
  EventStoreUnavailableError,
  RevisionConflictError,
  StreamRevivedError,
  StreamTruncatedError,
  UndecodableEventError,
} from './errors.ts'
import {
  evolved,
  type Appended,
  type DomainEvent,
  type Fold,
  type Loaded,
  type RecordedEvent,
  type Target,
} from './events.ts'
import { nextRevision, type StreamRevision, startOfLog, type Position } from '../../platform/kit/positions.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import { inSpan, inSpansOf, noTracer, traceInProgress, type Tracer } from '../../platform/kit/tracing.ts'
import { LeaderWatch, toleratedMs } from './leader-watch.ts'
import { newestOf, passes, placesBackwards, type HeadQuestion } from './log-head.ts'
import { readLogPiece, type LogBatch, type LogRead } from './log-reading.ts'
import type { KeyVault } from '../../platform/kit/key-vault.ts'
import {
  openRawLogSubscription,
  openRawStreamSubscription,
  type ReadDirection,
  type StreamPlace,
  type StreamRange,
} from './raw-calls.ts'
import { readLogBackwards, readLogForwards, readRawStream, type LogStart, type ReadTiming } from './reading.ts'
import type { StoredBytes } from './log-frames.ts'
import { FollowedStreams } from './followed-streams.ts'
import { SharedReads } from './shared-reads.ts'
import { StateCache, type FollowedTime } from './state-cache.ts'
import { isHiding, mergeMetadata, readMetadata, type StreamMetadata } from './stream-metadata.ts'
import { supervise, type SupervisedSubscription } from './subscription.ts'
import type {
  AllSubscription,
  EventFilter,
  RunningSubscription,
  StreamSubscription,
  SubscriptionCallbacks,
} from './subscription-options.ts'

export interface StoreLimits {
  /** Time limit of one attempt of an append, in milliseconds. Default 10,000. */
  readonly appendTimeoutMs?: number
  /** How long an append with an unknown outcome is retried, in milliseconds. Default 30,000. */
  readonly appendBudgetMs?: number
  /** How long a read without progress is retried, in milliseconds. Default 15,000. */
  readonly readBudgetMs?: number
}

export interface EventStoreOptions extends StoreLimits {
  /** EventStoreDB connection string. */
  readonly url: string
  readonly catalogue: Catalogue
  readonly vault: KeyVault
  /** Throws if the append must not happen. */
  readonly guard?: (append: GuardedAppend) => void
  readonly now?: () => Date
  readonly logger?: StoreLogger
  /** Called after each append of this process. It must not throw. */
  readonly onAppend?: (append: EndedAppend) => void
  /** Default: none. */
  readonly tracer?: Tracer
}

export interface EndedAppend {
  /** `conflict`: the stream had moved on, so the command decides again. */
  readonly outcome: 'done' | 'conflict' | 'failed'
  readonly events: readonly { readonly type: string }[]
}

/** An append before it is sent. */
export interface GuardedAppend {
  readonly stream: string
  readonly events: readonly DomainEvent[]
  readonly context: CommandContext
  /** As far as it is cached. */
  readonly state: unknown
}

export interface ReadStreamOptions {
  /** The first event of the answer. Default: the start of the stream; backwards, its end. */
  readonly from?: StreamPlace
  readonly direction?: ReadDirection
  readonly limit?: number
  /** Skips events with a foreign signature or an unknown type. For channels where others may write too. */
  readonly skipForeign?: boolean
  /** Also refuses a stream whose events are all hidden. For a stream without events this costs one more read. */
  readonly isWhole?: boolean
}

/** How many streams keep their last state in the cache. */
const mostStates = 10_000
/** Bytes of those states, as `sizeOfState` counts them. */
const mostStateBytes = 64 * 1024 * 1024

/** Connects to EventStoreDB. The server may still be away; the vault must be ready. */
export async function openEventStore(options: EventStoreOptions): Promise<EventStore> {
  const codec = createCodec(options.catalogue, options.vault, await EventKeys.open(options.vault))
  return new EventStore(options, codec, connectEventStore(options))
}

/** What an event store and its copies with other time limits share. */
interface Shared {
  cache: StateCache
  readonly followed: FollowedStreams
  isFull: boolean
  readonly closing: AbortController
  readonly subscriptions: Set<RunningSubscription>
  readonly leader: LeaderWatch
}

/** All access to streams. */
export class EventStore {
  readonly #options: EventStoreOptions
  readonly #codec: Codec
  readonly #catalogue: Catalogue
  readonly #connection: EventStoreConnection
  readonly #shared: Shared
  readonly #now: () => Date
  readonly #logger: StoreLogger | undefined
  readonly #appendTiming: AppendTiming
  readonly #readTiming: ReadTiming
  readonly #watch: AppendWatch
  readonly #tracer: Tracer
  readonly #loads = new WeakMap<object, SharedReads<Loaded<unknown>>>()

  constructor(options: EventStoreOptions, codec: Codec, connection: EventStoreConnection, shared?: Shared) {
    this.#options = options
    this.#codec = codec
    this.#catalogue = options.catalogue
    this.#connection = connection
    this.#now = options.now ?? (() => new Date())
    this.#tracer = options.tracer ?? noTracer
    this.#logger = options.logger
    this.#shared = shared ?? {
      cache: newCache(),
      followed: new FollowedStreams(() => this.#shared.cache),
      isFull: false,
      closing: new AbortController(),
      subscriptions: new Set(),
      leader: new LeaderWatch({
        newestFirst: () => readLogBackwards(connection.commands, { silenceMs: toleratedMs, budgetMs: toleratedMs }),
        now: this.#now,
      }),
    }
    // A successful append does not clear the flag: the store may answer a repeat without writing a byte. Only `isFull`
    // clears it.
    this.#watch = {
      logger: options.logger,
      onFull: () => void (this.#shared.isFull = true),
      onAttempt: (isAnswered, sentAtMs) => this.#shared.leader.appendEnded(isAnswered, sentAtMs),
    }
    this.#appendTiming = { attemptMs: options.appendTimeoutMs ?? 10_000, budgetMs: options.appendBudgetMs ?? 30_000 }
    this.#readTiming = { silenceMs: 10_000, budgetMs: options.readBudgetMs ?? 15_000 }
  }

  /** The same store with other time limits. Closing either one closes both. */
  within(limits: StoreLimits): EventStore {
    return new EventStore({ ...this.#options, ...limits }, this.#codec, this.#connection, this.#shared)
  }

  /**
   * Loads the state with every event of the server: reads the events after the cached state. Callers of the same stream
   * share reads.
   * @throws EventStoreUnavailableError, UndecodableEventError
   */
  async load<State, Event extends DomainEvent>(target: Target<State, Event>): Promise<Loaded<State>> {
    const { fold, stream } = target
    const loads = this.#loads.get(fold) ?? new SharedReads<Loaded<unknown>>()
    this.#loads.set(fold, loads)
    // Each read of these is one of this fold.
    const read = () => inSpan(this.#tracer, `read ${fold.category}`, {}, () => this.#load(target))
    return (await loads.get(stream, read)) as Loaded<State>
  }

  async #load<State, Event extends DomainEvent>(target: Target<State, Event>): Promise<Loaded<State>> {
    const { cache, followed } = this.#shared
    const ended = followed.begin(target.stream)
    const cached = cache.get(target)
    let state = cached?.state ?? target.fold.initialState
    let revision: StreamRevision = cached?.revision ?? 'no_stream'
    let position = cached?.position
    let followedIn: FollowedTime | undefined
    try {
      const events =
        cached === undefined && target.fold.wholeState !== undefined
          ? await this.#readSince<Event>(target.stream, target.fold.wholeState)
          : this.readStream<Event>(target.stream, { from: nextRevision(revision) })
      for await (const event of events) {
        state = evolved(target.fold, state, event)
        ;({ revision, position } = event)
      }
    } finally {
      followedIn = ended(revision)
    }
    if (revision !== 'no_stream') cache.advance(target, { state, revision, position }, { followedIn })
    return { state, revision, position }
  }

  /**
   * The state as far as the live read of this process has shown it, without a call. It may lack the events of the last
   * moments, as the projections of this process do. `load`, if no live read follows the stream or its state is not
   * cached.
   * @param past the state must have every event up to this position
   * @throws as `load`
   */
  async loadFollowed<State, Event extends DomainEvent>(
    target: Target<State, Event>,
    past?: Position,
  ): Promise<Loaded<State>> {
    const { cache, followed } = this.#shared
    const time = followed.timeOf(target.stream, past)
    return (time === undefined ? undefined : cache.getFollowed(target, time)) ?? this.load(target)
  }

  /**
   * Calls the listener after each event of a stream that this process appends, or that its live read shows.
   * @returns how to stop; undefined if no live read follows the stream
   */
  watch(stream: string, listener: () => void): (() => void) | undefined {
    return this.#shared.followed.watch(stream, listener)
  }

  /** One event of a channel. The live read of this process may have shown it a moment ago. Undefined if there is none. */
  async readAt<Event extends DomainEvent>(
    channel: string,
    revision: bigint,
  ): Promise<RecordedEvent<Event> | undefined> {
    const recent = this.#shared.followed.recent(channel, revision)
    if (recent !== undefined) return typed<Event>(recent)
    for await (const event of this.readStream<Event>(channel, { from: revision, limit: 1 }))
      return event.revision === revision ? event : undefined
    return undefined
  }

  /** The cached state, if there is one. It may lack the newest events. Only an append at the revision validates it. */
  cached<State, Event extends DomainEvent>(target: Target<State, Event>): Loaded<State> | undefined {
    return this.#shared.cache.get(target)
  }

  /**
   * Returns the cached state. Loads the state if nothing is cached. The caller must append at the revision, because the
   * append validates it.
   * @throws EventStoreUnavailableError, UndecodableEventError
   */
  async loadCached<State, Event extends DomainEvent>(target: Target<State, Event>): Promise<Loaded<State>> {
    return this.cached(target) ?? this.load(target)
  }

  /**
   * Returns the cached state, else the state of an empty stream. Never reads from the server. Only an append at the
   * revision shows whether the state is right.
   */
  presume<State, Event extends DomainEvent>(target: Target<State, Event>): Loaded<State> {
    return this.cached(target) ?? { state: target.fold.initialState, revision: 'no_stream', position: undefined }
  }

  /**
   * Appends at exactly `expected`. Repeating the call with the same command id and events is safe.
   * @throws RevisionConflictError, AppendOutcomeUnknownError, AppendTooLargeError, InvalidEventError, StreamTombstonedError,
   * StreamRevivedError, and what the guard throws
   */
  async append<State, Event extends DomainEvent>(
    target: Target<State, Event>,
    expected: StreamRevision,
    events: readonly Event[],
    context: CommandContext,
  ): Promise<Appended> {
    const { cache, followed } = this.#shared
    const { stream } = target
    this.#options.guard?.({ stream, events, context, state: cache.get(target)?.state })
    const encoded = await this.#codec.encode(events, context, { stream, expected })
    const before = cache.get(target)
    const ended = followed.begin(target.stream)
    let appended: Appended | undefined
    let followedIn: FollowedTime | undefined
    try {
      try {
        appended = await this.#traced(encoded, context)
      } finally {
        followedIn = ended(appended?.revision ?? 'no_stream', appended?.position)
      }
      const state = this.#stateAt(target.fold, before, expected)
      if (state !== undefined) {
        const folded = encoded.decoded.reduce((current, event) => evolved(target.fold, current, event), state.value)
        cache.advance(target, { state: folded, ...appended }, { grownBy: encoded.bytes, followedIn })
      }
      followed.appended(target.stream)
      return appended
    } catch (error) {
      if (error instanceof RevisionConflictError) await this.load(target)
      throw error
    }
  }

  /**
   * Drops every cached state. After an erasure, no cache may hold data that can no longer be decrypted. A running load
   * or append keeps its state in the dropped cache.
   */
  forgetStates(): void {
    this.#shared.cache = newCache()
  }

  /** Appends events of a public channel, with the ids that they carry. Same guarantees as `append`. */
  async appendRaw(stream: string, expected: StreamRevision, events: readonly RawEvent[]): Promise<Appended> {
    const traceparents = events.map(({ metadata }) => metadata.traceparent)
    return inSpansOf(this.#tracer, [{ name: `append ${categoryOf(stream)}`, traceparents }], () =>
      this.#codec.encodeRaw(events, { stream, expected }).then((encoded) => this.#write(encoded)),
    )
  }

  /**
   * Events of a stream; none if it does not exist. A broken connection resumes at the same place. Hidden events are
   * skipped backwards and on channels, where an operator may drop old events.
   * @throws StreamTruncatedError forwards, if the server hides an event; EventStoreUnavailableError,
   * UndecodableEventError
   */
  async *readStream<Event extends DomainEvent = DomainEvent>(
    stream: string,
    options: ReadStreamOptions = {},
  ): AsyncGenerator<RecordedEvent<Event>, void, undefined> {
    this.#refuseWhenClosed()
    const { direction = 'forwards', limit = Number.MAX_SAFE_INTEGER, skipForeign = false, isWhole = false } = options
    const from = options.from ?? (direction === 'forwards' ? 'start' : 'end')
    let left = limit
    let next = direction === 'forwards' && !skipForeign && from !== 'end' ? revisionOf(from) : undefined
    const read = { from, direction, limit: skipForeign ? Number.MAX_SAFE_INTEGER : limit }
    for await (const stored of readRawStream(this.#connection.commands, stream, read, this.#readTiming)) {
      if (left <= 0) return
      try {
        const decoding = this.#codec.decode(stored)
        const decoded = decoding instanceof Promise ? await decoding : decoding
        if (next !== undefined) {
          if (stored.revision !== next) throw new StreamTruncatedError(stream, next)
          next += 1n
        }
        yield typed<Event>(decoded)
        left -= 1
      } catch (error) {
        if (!(skipForeign && error instanceof UndecodableEventError && isForeign(error))) throw error
      }
    }
    if (isWhole && next === 0n && isHiding(await this.readMetadata(stream)))
      throw new StreamTruncatedError(stream, next)
  }

  /**
   * Events of a stream of another writer, as they are stored. Nothing is checked, decrypted or converted. None if the
   * stream does not exist.
   */
  readUnsigned(stream: string, range: StreamRange): AsyncGenerator<StoredEvent, void, undefined> {
    this.#refuseWhenClosed()
    return readRawStream(this.#connection.commands, stream, range, this.#readTiming)
  }

  /**
   * Events of a stream as they are stored, for auditors. Skips events that this installation did not sign, and hidden
   * ones. `isOpened`: personal members are decrypted, unless the key of their subject is gone.
   */
  async *readRecords(
    stream: string,
    range: StreamRange,
    isOpened: boolean,
  ): AsyncGenerator<StoredRecord, void, undefined> {
    for await (const stored of this.readUnsigned(stream, range)) {
      const record = await this.#codec.record(stored, isOpened)
      if (record !== undefined) yield record
    }
  }

  /** The newest event of a stream; undefined if there is none. */
  async readLast<Event extends DomainEvent = DomainEvent>(
    stream: string,
    options: Pick<ReadStreamOptions, 'skipForeign'> = {},
  ): Promise<RecordedEvent<Event> | undefined> {
    for await (const event of this.readStream<Event>(stream, { ...options, direction: 'backwards', limit: 1 }))
      return event
    return undefined
  }

  /** Stored metadata of a stream, with the server's names (`$maxCount`, `$tb`); empty if it has none. */
  async readMetadata(stream: string): Promise<StreamMetadata> {
    this.#refuseWhenClosed()
    return (await readMetadata(this.#connection, stream, this.#readTiming)).metadata
  }

  /**
   * Whether the store has no room: it refused an append of this process for lack of room, and it still would. The check
   * is an append of no events. The embedded node answers it without writing anything.
   */
  async isFull(): Promise<boolean> {
    if (!this.#shared.isFull) return false
    this.#shared.isFull = await refusesForWantOfRoom(this.#connection, 'health', this.#appendTiming)
    return this.#shared.isFull
  }

  /** A text in the metadata of a stream. Undefined if there is none, or if this installation did not write it. */
  async readMark(stream: string, name: string): Promise<string | undefined> {
    const signed = (await this.readMetadata(stream))[name]
    return typeof signed === 'string' ? this.#codec.openMark({ stream, name }, signed) : undefined
  }

  /** Stores a text in the metadata of a stream. It is signed, because others may write there too. */
  async writeMark(stream: string, name: string, value: string): Promise<void> {
    await this.writeMetadata(stream, { [name]: this.#codec.signMark({ stream, name }, value) })
  }

  /** Sets the given members of a stream's metadata and keeps the others. */
  async writeMetadata(stream: string, changes: StreamMetadata): Promise<void> {
    this.#refuseWhenClosed()
    const timing = { append: this.#appendTiming, read: this.#readTiming }
    await mergeMetadata(this.#connection, stream, changes, timing, this.#watch)
  }

  /**
   * Position of the newest event that passes the filter and counts; the start of the log if there is none. Reads the
   * log backwards, at most to `downTo`. Behind many events that do not count, it returns the newest of those. In both
   * cases, all events that count are at the answer or before it.
   */
  async head(filter: EventFilter, { downTo = startOfLog, wants = () => true }: HeadQuestion = {}): Promise<Position> {
    this.#refuseWhenClosed()
    const counts = (type: string): boolean => wants(type) || this.#catalogue.entry(type) === undefined
    return newestOf(placesBackwards(this.#connection.commands, this.#readTiming, filter, downTo), counts, downTo)
  }

  /** Positions of the events that pass the filter and are after `downTo`, newest first. Decodes nothing. */
  async *positionsBackwards(
    filter: EventFilter,
    { downTo }: { readonly downTo: Position },
  ): AsyncGenerator<Position, void, undefined> {
    this.#refuseWhenClosed()
    for await (const { position } of placesBackwards(this.#connection.commands, this.#readTiming, filter, downTo))
      yield position
  }

  /** Place and time of the events behind a position. Decodes nothing. */
  readTimes(
    after: Position,
  ): AsyncGenerator<{ readonly position: Position; readonly recordedAt: string }, void, undefined> {
    this.#refuseWhenClosed()
    return readLogForwards(this.#connection.subscriptions, { after }, this.#readTiming, (frame) => ({
      position: frame.position,
      recordedAt: frame.open().created.toISOString(),
    }))
  }

  /**
   * A range of the log in large batches. Decodes wanted events only. The last batch ends exactly at `upTo`.
   * @throws EventStoreUnavailableError, the signal's reason
   */
  readLog(read: LogRead): AsyncGenerator<LogBatch, void, undefined> {
    this.#refuseWhenClosed()
    const signal =
      read.signal === undefined
        ? this.#shared.closing.signal
        : AbortSignal.any([read.signal, this.#shared.closing.signal])
    const parts = { codec: this.#codec, catalogue: this.#catalogue }
    return readLogPiece(this.#connection.subscriptions, parts, { ...read, signal }, this.#readTiming)
  }

  /**
   * Every event from a place on as it is stored, foreign ones included, but not those of the server's own streams.
   * Decodes and checks nothing. May end early: compare the last position with `head`.
   */
  readStoredLog(start: LogStart): AsyncGenerator<StoredBytes, void, undefined> {
    this.#refuseWhenClosed()
    return readLogForwards(this.#connection.subscriptions, start, this.#readTiming, (frame) => frame.stored())
  }

  /**
   * Whether this installation signed the event for its place. Says nothing about its content. A promise only if the
   * event names a key that this process does not know.
   */
  isSigned(event: StoredBytes): boolean | Promise<boolean> {
    return this.#codec.isSigned(event)
  }

  /** Reads the keys that sign events anew: this process has changed them. */
  refreshEventKeys(): Promise<void> {
    return this.#codec.refreshKeys()
  }

  /** Follows the log, and reconnects after every drop, until the signal is aborted or a handler throws. */
  subscribeToAll(options: AllSubscription): RunningSubscription {
    const { name, filter, from, onCheckpoint, isFollowed = false } = options
    return this.#supervised(options, (callbacks) => ({
      name,
      following: isFollowed ? this.#shared.followed.follow(filter, from, callbacks.signal) : undefined,
      start: { position: from, revision: 'start' },
      delivery: options,
      callbacks,
      onCheckpoint,
      open: ({ position }) => openRawLogSubscription(this.#connection.subscriptions, filter, position),
      accepts: ({ type, stream }) => !isSystemEvent({ type, streamId: stream }) && passes(filter, stream),
      isHandled: (event, { position }) => position !== 'start' && event.isUpTo(position),
    }))
  }

  /** Follows one stream. The stream may not exist yet. */
  subscribeToStream(options: StreamSubscription): RunningSubscription {
    const { name, stream, fromRevision } = options
    return this.#supervised(options, (callbacks) => ({
      name,
      following: undefined,
      start: { position: 'start', revision: fromRevision },
      delivery: options,
      callbacks,
      onCheckpoint: undefined,
      open: ({ revision }) => openRawStreamSubscription(this.#connection.subscriptions, stream, revision),
      accepts: (event) => event.stream === stream,
      isHandled: (event, { revision }) => revision !== 'start' && event.revision <= revision,
    }))
  }

  /**
   * Watches from now on whether the store accepts writes and delivers its events. `probe` must append a small event. It
   * is called only while appends fail.
   */
  watchLeader(probe: () => Promise<void>): void {
    this.#shared.leader.start(probe)
  }

  /** The instant since which the store has accepted no write. Undefined while it accepts them, or without a watch. */
  refusesWritesSince(): Date | undefined {
    return this.#shared.leader.refusesWritesSince()
  }

  /** Subscriptions of this process that do not get what the leader shows, longest first. */
  subscriptionsBehind(): { readonly name: string; readonly since: Date }[] {
    return [...this.#shared.subscriptions]
      .map((each) => each.stats())
      .flatMap(({ name, behindSince }) => (behindSince === null ? [] : [{ name, since: behindSince }]))
      .toSorted((one, other) => one.since.getTime() - other.since.getTime())
  }

  /**
   * The program stops. After this time no call waits for a node that is not found, or is repeated, and each waits a second
   * for an answer: a stop has seconds, and the store may be away for hours. What the store answers goes on.
   */
  hurry(afterMs: number): void {
    this.#connection.hurry(afterMs)
  }

  /** Ends the subscriptions, waits for running handlers, then closes the connections. */
  async close(): Promise<void> {
    this.#shared.leader.stop()
    this.#shared.closing.abort()
    this.hurry(0)
    await Promise.allSettled([...this.#shared.subscriptions].map((each) => each.ended))
    this.#connection.close()
  }

  #supervised(
    callbacks: SubscriptionCallbacks,
    describe: (
      callbacks: SubscriptionCallbacks,
    ) => Omit<SupervisedSubscription, 'codec' | 'now' | 'logger' | 'leader' | 'node'>,
  ): RunningSubscription {
    this.#refuseWhenClosed()
    const signal = AbortSignal.any([callbacks.signal, this.#shared.closing.signal])
    const parts = {
      codec: this.#codec,
      now: this.#now,
      logger: this.#logger,
      leader: this.#shared.leader,
      node: this.#connection.subscriptions,
    }
    const subscription = supervise({ ...describe({ ...callbacks, signal }), ...parts })
    this.#shared.subscriptions.add(subscription)
    const forget = () => void this.#shared.subscriptions.delete(subscription)
    subscription.ended.then(forget, forget)
    return subscription
  }

  #traced(encoded: EncodedAppend, { orgId, traceparent }: CommandContext): Promise<Appended> {
    if (this.#tracer === noTracer) return this.#write(encoded)
    const { stream, events } = encoded
    const attributes = {
      'platform.organisation.id': orgId,
      'platform.stream': stream,
      'platform.event.types': [...new Set(events.map(({ type }) => type))],
    }
    const parent = traceInProgress() ?? traceparent
    return inSpan(this.#tracer, `append ${categoryOf(stream)}`, { parent, attributes }, () => this.#write(encoded))
  }

  async #write(encoded: EncodedAppend): Promise<Appended> {
    const { onAppend } = this.#options
    if (onAppend === undefined) return this.#writeExactly(encoded)
    const { events } = encoded
    try {
      const appended = await this.#writeExactly(encoded)
      onAppend({ outcome: 'done', events })
      return appended
    } catch (error) {
      onAppend({ outcome: error instanceof RevisionConflictError ? 'conflict' : 'failed', events })
      throw error
    }
  }

  async #writeExactly(encoded: EncodedAppend): Promise<Appended> {
    this.#refuseWhenClosed()
    const { stream, expected, events, bytes } = encoded
    if (events.length === 0) throw new Error(`nothing to append to ${stream}`)
    if (bytes >= appendLimitBytes) throw new AppendTooLargeError(stream, bytes, appendLimitBytes)
    const answer = await appendExactly(this.#connection, encoded, this.#appendTiming, this.#watch)
    const isInPlace =
      answer.kind === 'written' && answer.revision === nextRevision(expected) + BigInt(events.length - 1)
    if (isInPlace && answer.position !== undefined) return { revision: answer.revision, position: answer.position }
    const own = await this.#findOwn(encoded)
    if (own !== undefined) return own
    if (answer.kind === 'conflict') throw new RevisionConflictError(stream, expected, answer.actual)
    if (!isInPlace) throw new StreamRevivedError(stream, answer.revision)
    throw new EventStoreUnavailableError(`${stream} was written but cannot be read back`)
  }

  /** The events from the last one of a type on, or all if there is none. */
  async #readSince<Event extends DomainEvent>(stream: string, type: string): Promise<RecordedEvent<Event>[]> {
    const events: RecordedEvent<Event>[] = []
    for await (const event of this.readStream<Event>(stream, { direction: 'backwards' })) {
      const next = events.at(-1)?.revision
      if (next !== undefined && event.revision !== next - 1n) throw new StreamTruncatedError(stream, next - 1n)
      events.push(event)
      if (event.type === type) break
    }
    const first = events.at(-1)
    if (first !== undefined && first.type !== type && first.revision !== 0n) throw new StreamTruncatedError(stream, 0n)
    return events.toReversed()
  }

  /**
   * The place of this append in the stream, if it is there: an earlier attempt may have been written without an answer.
   */
  async #findOwn({ stream, expected, events }: EncodedAppend): Promise<Appended | undefined> {
    const read = { from: nextRevision(expected), direction: 'forwards', limit: events.length } as const
    let index = 0
    for await (const { id, revision, position } of readRawStream(
      this.#connection.commands,
      stream,
      read,
      this.#readTiming,
    )) {
      if (id !== events[index]?.id || revision !== nextRevision(expected) + BigInt(index)) return undefined
      index += 1
      if (index === events.length && position !== undefined) return { revision, position }
    }
    return undefined
  }

  #stateAt<State, Event extends DomainEvent>(
    fold: Fold<State, Event>,
    cached: Loaded<State> | undefined,
    expected: StreamRevision,
  ): { readonly value: State } | undefined {
    if (cached !== undefined) return cached.revision === expected ? { value: cached.state } : undefined
    return expected === 'no_stream' ? { value: fold.initialState } : undefined
  }

  #refuseWhenClosed(): void {
    if (this.#shared.closing.signal.aborted) throw new EventStoreClosedError()
  }
}

function newCache(): StateCache {
  return new StateCache({ mostStates, mostBytes: mostStateBytes })
}

function revisionOf(from: bigint | 'start'): bigint {
  return from === 'start' ? 0n : from
}

/**
 * The fold's category and the catalogue decide which types a stream holds. The caller's event union names the same
 * types.
 */
function typed<Event extends DomainEvent>(event: RecordedEvent): RecordedEvent<Event> {
  return event as RecordedEvent<Event>
}

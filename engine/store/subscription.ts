import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import { ClientStreamTombstoned, isRefusal, reasonOf } from './client-errors.ts'
import type { Codec } from './codec.ts'
import { headOf, isSystemEvent, type StoredEvent } from './decoding.ts'
import { EventStoreRefusedError, StreamTombstonedError, UndecodableEventError } from './errors.ts'
import type { RecordedEvent } from './events.ts'
import type { FollowingRead } from './followed-streams.ts'
import { toleratedMs, type Follower, type LeaderWatch } from './leader-watch.ts'
import type { LogFrame } from './log-frames.ts'
import { isLongSilence, type NodeConnection } from './node-connection.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { StoreLogger } from './errors.ts'
import { Pull } from './pull.ts'
import { endCall, type RawCall } from './raw-calls.ts'
import { itemOf, Marker, ReadAhead } from './subscription-feed.ts'
import type { Delivery, RunningSubscription, SubscriptionCallbacks, SubscriptionStats } from './subscription-options.ts'

/** The progress of a subscription: every event up to here is handled. */
export interface Progress {
  readonly position: Position | 'start'
  readonly revision: bigint | 'start'
}

export interface SupervisedSubscription {
  readonly name: string
  /** Receives what the subscription gets. */
  readonly following: FollowingRead | undefined
  readonly start: Progress
  readonly delivery: Delivery
  readonly callbacks: SubscriptionCallbacks
  readonly onCheckpoint: ((position: Position) => Promise<void> | void) | undefined
  readonly open: (from: Progress) => Promise<RawCall>
  /** Whether the server should deliver the event. */
  readonly accepts: (event: LogFrame) => boolean
  /** Whether the event is part of the progress. */
  readonly isHandled: (event: LogFrame, progress: Progress) => boolean
  readonly node: NodeConnection
  readonly leader: LeaderWatch
  readonly codec: Codec
  readonly now: () => Date
  readonly logger: StoreLogger | undefined
}

/** Marks an error of a handler, as opposed to an error of the connection. */
class HandlerFailure extends Error {}

/**
 * At most two seconds between two attempts. A caller that waits for the read models after an outage has only a few
 * attempts of its own.
 */
const backoff = { firstMs: 100, mostMs: 2_000 }
/**
 * Time limits of a confirmation, in milliseconds: the first one, and the longest. A node that comes back may accept a
 * subscription that it never serves. A slow store needs the longer ones.
 */
const confirmation = { firstMs: 2_000, mostMs: 8_000 }
const defaultBatchSize = 500
/** A node that is silent for less counts as busy, in milliseconds. */
const noticedMs = 5_000

// The log shows the name of an error, not its message.
class UnconfirmedSubscriptionError extends Error {}
class SilentSubscriptionError extends Error {}

/** Runs until the signal is aborted or a handler throws. Every other end of the client's subscription is a drop. */
export function supervise(options: SupervisedSubscription): RunningSubscription {
  const run = new SubscriptionRun(options)
  const stopFollowing = options.leader.follow(run)
  const ended = run.run().finally(stopFollowing)
  const { onError } = options.callbacks
  if (onError !== undefined) ended.catch(onError)
  return { ended, stats: () => run.stats() }
}

class SubscriptionRun implements Follower {
  readonly #options: SupervisedSubscription
  readonly #signal: AbortSignal
  #progress: Progress
  #hasHandled = false
  #isConnected = false
  #isCaughtUp = false
  #lastEventAt: string | null = null
  #restarts = 0
  #failedAttempts = 0
  #unconfirmedAttempts = 0
  /** An event that the leader has and this subscription has not handled yet, with the time when it was seen. */
  #awaited: { readonly event: LogFrame; readonly sinceMs: number } | undefined
  /** Since when it waits for the node. Undefined while it does not, for example because a handler is at work. */
  #waitsSinceMs: number | undefined
  /** Ends the wait of the present connection. */
  #silent = new AbortController()

  constructor(options: SupervisedSubscription) {
    this.#options = options
    this.#signal = options.callbacks.signal
    this.#progress = options.start
  }

  stats(): SubscriptionStats {
    return {
      name: this.#options.name,
      connected: this.#isConnected,
      caughtUp: this.#isCaughtUp && !this.#isBehind() && this.#options.leader.hearsLeader(),
      behindSince: this.#behindSince(),
      lastEventAt: this.#lastEventAt,
      position: this.#progress.position,
      restarts: this.#restarts,
    }
  }

  accepts(event: LogFrame): boolean {
    return this.#options.accepts(event)
  }

  mustReach(event: LogFrame): void {
    if (this.#awaited !== undefined && !this.#hasReached(this.#awaited.event)) return
    this.#awaited = this.#hasReached(event) ? undefined : { event, sinceMs: performance.now() }
  }

  /** A node that is cut off from its cluster keeps a subscription open and delivers nothing, and answers pings. */
  check(): void {
    if (this.#isBehind() && this.#silentForMs() >= toleratedMs) this.#silent.abort()
  }

  #silentForMs(): number {
    return this.#waitsSinceMs === undefined ? 0 : performance.now() - this.#waitsSinceMs
  }

  #isBehind(): boolean {
    return this.#behindForMs() >= toleratedMs
  }

  #behindForMs(): number {
    if (this.#awaited === undefined || this.#hasReached(this.#awaited.event)) return 0
    return performance.now() - this.#awaited.sinceMs
  }

  #behindSince(): Date | null {
    const isSilent = !this.#isConnected || this.#silentForMs() >= noticedMs
    return isSilent && this.#isBehind() ? new Date(this.#options.now().getTime() - this.#behindForMs()) : null
  }

  #hasReached(event: LogFrame): boolean {
    return this.#options.isHandled(event, this.#progress)
  }

  async run(): Promise<void> {
    const { name, logger } = this.#options
    while (!this.#signal.aborted) {
      try {
        await this.#runOnce()
      } catch (error) {
        if (error instanceof HandlerFailure) {
          logger?.error({ subscription: name, reason: reasonOf(error.cause) }, 'subscription ended by its handler')
          throw error.cause
        }
        if (isRefusal(error)) throw new EventStoreRefusedError(`following for ${name}`, { cause: error })
        if (error instanceof ClientStreamTombstoned) throw new StreamTombstonedError(error.streamName)
        logger?.warn({ subscription: name, reason: reasonOf(error) }, 'subscription dropped')
      } finally {
        this.#isConnected = false
        this.#setCaughtUp(false)
      }
      if (this.#signal.aborted) return
      this.#restarts += 1
      this.#failedAttempts += 1
      await pause(backoffMs(backoff, this.#failedAttempts), this.#signal)
    }
  }

  /** One connection. Messages that arrive after its end are dropped with its own buffer. */
  async #runOnce(): Promise<void> {
    const { node, open } = this.#options
    const call = await open(this.#progress)
    const openedAtMs = performance.now()
    const pull = new Pull<Buffer>(new ReadAhead(call), node.whenOverdue)
    this.#silent = new AbortController()
    const signal = AbortSignal.any([this.#signal, this.#silent.signal])
    const confirmationMs = Math.min(confirmation.mostMs, confirmation.firstMs * 2 ** this.#unconfirmedAttempts)
    try {
      while (!this.#signal.aborted) {
        await this.#handleReady(pull)
        // Silence is normal on a confirmed subscription, while the leader has no event for it.
        this.#waitsSinceMs = performance.now()
        const more = await pull.more(this.#isConnected ? Infinity : confirmationMs, signal)
        this.#waitsSinceMs = undefined
        const isUnconfirmed = more === 'silence' && !this.#isConnected
        if (isUnconfirmed) this.#unconfirmedAttempts += 1
        if (isUnconfirmed || (this.#silent.signal.aborted && !this.#signal.aborted)) {
          // Leaving the node ends all its subscriptions. So an unconfirmed one does not leave a node that answers others.
          if (!isUnconfirmed || isLongSilence(performance.now() - openedAtMs, confirmationMs))
            node.leaveNodeOf(call, isUnconfirmed ? openedAtMs : undefined)
          throw isUnconfirmed ? new UnconfirmedSubscriptionError() : new SilentSubscriptionError()
        }
        if (more === 'end') return
        node.heard(call)
        // The events of one append come together, in messages of their own.
        await new Promise((resolve) => setImmediate(resolve))
      }
    } finally {
      this.#waitsSinceMs = undefined
      pull.discard()
      await endCall(call)
    }
  }

  async #handleReady(pull: Pull<Buffer>): Promise<void> {
    const { delivery } = this.#options
    const batchSize = (delivery.onBatch === undefined ? undefined : delivery.batchSize) ?? defaultBatchSize
    let batch: StoredEvent[] = []
    for (let message = pull.take(); message !== undefined && !this.#signal.aborted; message = pull.take()) {
      const item = itemOf(message)
      if (item instanceof Marker) {
        await this.#handleEvents(batch)
        batch = []
        await this.#handleMarker(item)
      } else if (
        item !== undefined &&
        !isSystemEvent({ type: item.type, streamId: item.stream }) &&
        !this.#isHandled(item)
      ) {
        batch.push(item.open())
        if (batch.length >= batchSize) {
          await this.#handleEvents(batch)
          batch = []
        }
      }
    }
    await this.#handleEvents(batch)
  }

  /** After a resume, a server may deliver events before the requested place again. */
  #isHandled(frame: LogFrame): boolean {
    const { position } = this.#progress
    return this.#hasHandled && position !== 'start' && frame.isUpTo(position)
  }

  async #handleMarker(marker: Marker): Promise<void> {
    if (this.#signal.aborted) return
    const { callbacks, onCheckpoint } = this.#options
    if (marker.kind === 'confirmed') {
      this.#isConnected = true
      this.#failedAttempts = 0
      this.#unconfirmedAttempts = 0
    } else if (marker.kind === 'caught-up') {
      this.#setCaughtUp(true)
      await this.#handled(() => callbacks.onCaughtUp?.())
    } else if (marker.kind === 'fell-behind') {
      this.#setCaughtUp(false)
    } else if (marker.position !== undefined) {
      const { position } = marker
      await this.#handled(() => onCheckpoint?.(position))
      this.#progress = { ...this.#progress, position }
      this.#hasHandled = true
    }
  }

  #setCaughtUp(isCaughtUp: boolean): void {
    this.#isCaughtUp = isCaughtUp
    this.#options.following?.setLive(isCaughtUp)
  }

  /** An error of the vault itself is a drop, so its events are decoded again. */
  async #handleEvents(batch: readonly StoredEvent[]): Promise<void> {
    let ready: RecordedEvent[] = []
    for (const [event, decoded] of batch.map((each) => [each, decodeAhead(this.#options.codec, each)] as const)) {
      try {
        const readable = decoded()
        ready.push(readable instanceof Promise ? await readable : readable)
      } catch (error) {
        if (!(error instanceof UndecodableEventError)) throw error
        await this.#deliver(ready)
        ready = []
        if (this.#signal.aborted) return
        await this.#passOver(event, error)
      }
    }
    await this.#deliver(ready)
  }

  async #deliver(events: readonly RecordedEvent[]): Promise<void> {
    const { delivery } = this.#options
    if (events.length === 0 || this.#signal.aborted) return
    this.#options.following?.took(events)
    if (delivery.onBatch !== undefined) {
      await this.#handled(() => delivery.onBatch(events))
      this.#moveTo(events.at(-1))
      return
    }
    for (const event of events) {
      if (this.#signal.aborted) return
      await this.#handled(() => delivery.onEvent(event))
      this.#moveTo(event)
    }
  }

  async #passOver(event: StoredEvent, error: UndecodableEventError): Promise<void> {
    const { onUndecodable } = this.#options.callbacks
    if (onUndecodable === undefined) throw new HandlerFailure('undecodable', { cause: error })
    this.#options.following?.passedOver(error.head.stream, error.head.revision)
    await this.#handled(() => onUndecodable(error.head, error))
    this.#moveTo(headOf(event))
  }

  async #handled(handle: () => Promise<void> | void): Promise<void> {
    this.#options.following?.setHandling(true)
    try {
      await handle()
    } catch (error) {
      throw new HandlerFailure('handler', { cause: error })
    } finally {
      this.#options.following?.setHandling(false)
    }
  }

  #moveTo(event: { readonly position: Position; readonly revision: bigint } | undefined): void {
    if (event === undefined) return
    this.#progress = { position: event.position, revision: event.revision }
    this.#hasHandled = true
    this.#lastEventAt = this.#options.now().toISOString()
  }
}

/** Starts decoding early, so all keys of a batch are fetched at once. The result is taken in order. */
function decodeAhead(codec: Codec, event: StoredEvent): () => RecordedEvent | Promise<RecordedEvent> {
  try {
    const decoded = codec.decode(event)
    if (decoded instanceof Promise) decoded.catch(() => undefined)
    return () => decoded
  } catch (error) {
    return () => {
      throw error
    }
  }
}

import type { Pool } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import { AppendOutcomeUnknownError, EventStoreError, RevisionConflictError, type EventHead } from '../store/errors.ts'
import type { EventStore } from '../store/event-store.ts'
import type { RecordedEvent } from '../store/events.ts'
import { type StreamRevision, formatPosition, type Position } from '../../platform/kit/positions.ts'
import { runOnOneInstance } from '../processes/single-instance.ts'
import type { Channel } from './channel.ts'
import { publicEvents } from './envelope.ts'
import { resumePoint, sourceMember } from './resume-point.ts'

export interface RelayOptions<Deps> {
  readonly eventStore: Pick<
    EventStore,
    'subscribeToAll' | 'appendRaw' | 'readStream' | 'readLast' | 'readMark' | 'writeMark'
  >
  readonly channel: Channel<Deps>
  /** For the advisory lock: one instance works, the others stand by. Without it only the revisions fence. */
  readonly pool?: Pool
  readonly logger: Logger
  readonly deps: Deps
  /** Source events without output after which the position goes into the channel's metadata. Default 10,000. */
  readonly quietEvents?: number
  /** Milliseconds between two tries to take the lock. Default 1,000. */
  readonly standbyMs?: number
}

/** `blocked`: an event cannot be translated, read or published. It is tried again, and holds back the events after it. */
export const relayStates = ['standby', 'running', 'blocked', 'closed'] as const

export interface RelayStatus {
  readonly channel: string
  readonly state: (typeof relayStates)[number]
  /** The channel contains everything of the sources up to here. */
  readonly position: Position | undefined
  /** Public events appended by this instance. */
  readonly published: number
  readonly blockedBy: { readonly eventId: string; readonly eventType: string; readonly reason: string } | undefined
}

const backoff = { firstMs: 50, mostMs: 10_000 }
/** Source events that one checkpoint message of the server stands for. */
const checkpointEvents = 1_000

/** Publishes each fact of the sources of a channel exactly once. The channel is its own checkpoint. */
export function createRelay<Deps>(options: RelayOptions<Deps>): Relay<Deps> {
  return new Relay(options)
}

export class Relay<Deps> {
  readonly #options: RelayOptions<Deps>
  readonly #closing = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #state: RelayStatus['state'] = 'standby'
  #position: Position | undefined
  #published = 0
  #blockedBy: RelayStatus['blockedBy']
  #revision: StreamRevision = 'no_stream'
  #quiet = 0

  constructor(options: RelayOptions<Deps>) {
    this.#options = options
  }

  start(): void {
    const { pool, channel, logger, standbyMs } = this.#options
    this.#running = runOnOneInstance({
      lock: `relay ${channel.stream}`,
      pool,
      logger,
      standbyMs,
      signal: this.#closing.signal,
      work: (signal) => this.#work(signal),
      onStandby: () => void (this.#state = 'standby'),
    })
  }

  /** Finishes the append in hand. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
    this.#state = 'closed'
  }

  status(): RelayStatus {
    const { stream } = this.#options.channel
    return {
      channel: stream,
      state: this.#state,
      position: this.#position,
      published: this.#published,
      blockedBy: this.#blockedBy,
    }
  }

  /** Reads again after each failure. The channel itself contains the position from which to continue. */
  async #work(signal: AbortSignal): Promise<void> {
    let conflicting: StreamRevision | undefined
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      const published = this.#published
      try {
        const resume = await resumePoint(this.#options.eventStore, this.#options.channel.stream, conflicting)
        this.#revision = resume.revision
        this.#position = resume.source
        await this.#follow(signal)
      } catch (error) {
        conflicting = error instanceof RevisionConflictError ? error.actual : undefined
        const isFenced = error instanceof RevisionConflictError || error instanceof AppendOutcomeUnknownError
        if (!isFenced && this.#blockedBy === undefined) this.#state = 'blocked'
        this.#log(
          isFenced ? 'the channel moved on, resuming at its newest event' : 'the relay cannot go on',
          error,
          attempt,
        )
      }
      if (this.#published > published) attempt = 1
      if (!signal.aborted) await pause(backoffMs(backoff, attempt), signal)
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { eventStore, channel } = this.#options
    this.#state = 'running'
    this.#quiet = 0
    const subscription = eventStore.subscribeToAll({
      name: `relay ${channel.stream}`,
      filter: { streamPrefixes: channel.sources },
      from: this.#position ?? 'start',
      onBatch: async (events) => {
        for (const event of events) if (!signal.aborted) await this.#relay(event, signal)
      },
      onCheckpoint: (position) => this.#passOver(position, checkpointEvents),
      onUndecodable: (head, error) => this.#refuse(head, error),
      signal,
    })
    await subscription.ended
  }

  async #relay(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    const { channel, eventStore } = this.#options
    const translation = Object.hasOwn(channel.translate, event.type) ? channel.translate[event.type] : undefined
    const outputs =
      translation === undefined
        ? []
        : await this.#untilTaken(event, signal, async () => translation(event, this.#options.deps))
    if (outputs === undefined) return
    if (outputs.length === 0) return this.#passOver(event.position, 1)
    const appended = await this.#untilTaken(event, signal, () =>
      eventStore.appendRaw(channel.stream, this.#revision, publicEvents(channel, event, outputs)),
    )
    if (appended === undefined) return
    this.#revision = appended.revision
    this.#position = event.position
    this.#blockedBy = undefined
    this.#published += outputs.length
    this.#quiet = 0
  }

  /** Repeats the work for an event until it succeeds: no later event may be published before it. */
  async #untilTaken<Result>(
    event: RecordedEvent,
    signal: AbortSignal,
    work: () => Promise<Result>,
  ): Promise<Result | undefined> {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        const result = await work()
        this.#state = 'running'
        return result
      } catch (error) {
        if (error instanceof RevisionConflictError || error instanceof AppendOutcomeUnknownError) throw error
        this.#block(event, error)
        this.#log('an event cannot be published, trying again', error, attempt)
        await pause(backoffMs(backoff, attempt), signal)
      }
    }
    return undefined
  }

  async #passOver(position: Position, events: number): Promise<void> {
    this.#position = position
    this.#blockedBy = undefined
    this.#quiet += events
    const { eventStore, channel, quietEvents = 10_000 } = this.#options
    if (this.#quiet < quietEvents) return
    await eventStore.writeMark(channel.stream, sourceMember, formatPosition(position))
    this.#quiet = 0
  }

  /** A source that cannot be read stops the channel, unless the channel does not need it. */
  #refuse(head: EventHead, error: Error): void {
    const isOfChannel = Object.hasOwn(this.#options.channel.translate, head.type)
    const isUnknown = error instanceof EventStoreError && error.code === 'undecodable-event-unknown-type'
    if (!isOfChannel && !isUnknown) return
    this.#block(head, error)
    throw error
  }

  #block(event: Pick<EventHead, 'id' | 'type'>, error: unknown): void {
    this.#state = 'blocked'
    const reason = error instanceof EventStoreError ? error.code : error instanceof Error ? error.name : 'unknown'
    this.#blockedBy = { eventId: event.id, eventType: event.type, reason }
  }

  #log(message: string, error: unknown, attempt: number): void {
    this.#options.logger.warn(
      { channel: this.#options.channel.stream, attempt, ...this.#blockedBy, err: error },
      message,
    )
  }
}

import type { Pool } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import { AppendOutcomeUnknownError, EventStoreError, RevisionConflictError, type EventHead } from '../store/errors.ts'
import type { RawEvent } from '../store/codec.ts'
import type { EventStore } from '../store/event-store.ts'
import type { RecordedEvent } from '../store/events.ts'
import { type StreamRevision, formatPosition, type Position } from '../../platform/kit/positions.ts'
import { runOnOneInstance } from '../../platform/database/single-instance.ts'
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
  /** Milliseconds after the last output after which it goes there too. Default one minute. */
  readonly quietMs?: number
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
/** Most public events of one append, and their bytes as JSON. One source event may have more. */
const [mostTogether, mostBytes] = [100, 256 * 1024]
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
  #quietTimer: NodeJS.Timeout | undefined

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
    let isNoted = false
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      const published = this.#published
      try {
        const { eventStore, channel } = this.#options
        const { revision, source, noted } = await resumePoint(eventStore, channel.stream, conflicting)
        this.#revision = revision
        this.#position = source
        // An operator may hide all public events. Without a note the next start would begin at the start of the log.
        if (!isNoted && source !== undefined && source !== noted) await this.#note(source)
        isNoted = true
        await this.#follow(signal)
      } catch (error) {
        conflicting = error instanceof RevisionConflictError ? error.actual : undefined
        const isFenced = isFence(error)
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
        for (let rest = events; rest.length > 0 && !signal.aborted;) rest = rest.slice(await this.#relay(rest, signal))
      },
      onCheckpoint: (position) => this.#passOver(position, checkpointEvents),
      onUndecodable: (head, error) => this.#refuse(head, error),
      signal,
    })
    await subscription.ended
  }

  /** Publishes the first events of a batch together. Returns how many. */
  async #relay(events: readonly RecordedEvent[], signal: AbortSignal): Promise<number> {
    const [first, ...others] = events
    if (first === undefined) return 0
    const outputs = await this.#untilTaken(first, signal, () => this.#outputsOf(first))
    if (outputs === undefined) return 1
    let last = first
    let count = 1
    let bytes = sizeOf(outputs)
    for (const event of others) {
      // What fails is tried again after the events before it are published.
      const next = await this.#outputsOf(event).catch(() => undefined)
      if (next === undefined) break
      bytes += sizeOf(next)
      if (bytes > mostBytes || outputs.length + next.length > mostTogether) break
      outputs.push(...next)
      last = event
      count += 1
    }
    if (outputs.length === 0) await this.#passOver(last.position, count)
    else if (!(await this.#publish(first, last, outputs, signal)) && count > 1) return this.#relay([first], signal)
    return count
  }

  async #outputsOf(event: RecordedEvent): Promise<RawEvent[]> {
    const { channel, deps } = this.#options
    const translation = Object.hasOwn(channel.translate, event.type) ? channel.translate[event.type] : undefined
    return translation === undefined ? [] : publicEvents(channel, event, await translation(event, deps))
  }

  /** Appends until it succeeds. False if the outputs of several events are refused, or after a stop. */
  async #publish(
    first: RecordedEvent,
    last: RecordedEvent,
    outputs: readonly RawEvent[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { channel, eventStore } = this.#options
    const append = () => eventStore.appendRaw(channel.stream, this.#revision, outputs)
    const appended =
      first === last
        ? await this.#untilTaken(first, signal, append)
        : await append().catch((error: unknown) => {
            if (isFence(error)) throw error
          })
    if (appended === undefined) return false
    this.#state = 'running'
    this.#revision = appended.revision
    this.#position = last.position
    this.#blockedBy = undefined
    this.#published += outputs.length
    this.#quiet = 0
    this.#noteLater(signal)
    return true
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
        if (isFence(error)) throw error
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
    const { quietEvents = 10_000 } = this.#options
    if (this.#quiet < quietEvents) return
    await this.#note(position)
    this.#quiet = 0
  }

  /** Once the channel is quiet. Its events may be hidden later, and the next start would publish them again. */
  #noteLater(signal: AbortSignal): void {
    const { quietMs = 60_000 } = this.#options
    clearTimeout(this.#quietTimer)
    this.#quietTimer = setTimeout(() => {
      if (signal.aborted || this.#position === undefined) return
      this.#note(this.#position).catch((error: unknown) => {
        this.#log('the place of the relay cannot be noted', error, 1)
        this.#noteLater(signal)
      })
    }, quietMs).unref()
  }

  #note(position: Position): Promise<void> {
    const { eventStore, channel } = this.#options
    return eventStore.writeMark(channel.stream, sourceMember, formatPosition(position))
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

/** Another relay may have appended. The channel itself shows where to continue. */
function isFence(error: unknown): boolean {
  return error instanceof RevisionConflictError || error instanceof AppendOutcomeUnknownError
}

function sizeOf(outputs: readonly RawEvent[]): number {
  return Buffer.byteLength(JSON.stringify(outputs))
}

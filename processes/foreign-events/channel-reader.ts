import type { Pool } from 'pg'
import { execute } from '../../engine/commands/execute.ts'
import {
  foreignEventOf,
  recordForeignEvent,
  type ForeignChannel,
  type ForeignMessage,
} from '../../commands/foreign-events/record-foreign-event.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import type { Failpoint } from '../../platform/lifecycle/graceful-stop.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { foreignChannelId, foreignEvents } from '../../streams/foreign-event/aggregate.ts'
import { EventStoreError } from '../../engine/store/errors.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { runOnOneInstance } from '../../platform/database/single-instance.ts'

export interface ChannelReaderOptions {
  readonly store: EventStore
  readonly channel: ForeignChannel
  /** For the advisory lock: one instance reads, the others stand by. */
  readonly pool: Pool
  readonly logger: Logger
  readonly failpoint: Failpoint
  readonly now: () => Date
  /** Milliseconds between two reads of a channel without news. Default 1,000. */
  readonly pollMs?: number
  readonly standbyMs?: number
}

export interface ChannelReaderStatus {
  readonly channel: string
  /** `blocked`: the channel cannot be read, or its events cannot be recorded. It is tried again. */
  readonly state: 'standby' | 'running' | 'blocked' | 'closed'
  /** The next revision to read. Undefined until the place is known. */
  readonly next: bigint | undefined
}

const backoff = { firstMs: 100, mostMs: 10_000 }
const pageSize = 100
/** The member of stream metadata for the next revision to read. The stream of that name has no events. */
const nextMember = 'nextRevision'

/**
 * Records each event of a foreign channel as one signed event of our own. A record's stream follows from the foreign
 * event, so a repeat after a crash records nothing twice. The place moves only after the records.
 */
export class ChannelReader {
  readonly #options: ChannelReaderOptions
  readonly #closing = new AbortController()
  readonly #markStream: string
  #running: Promise<void> = Promise.resolve()
  #state: ChannelReaderStatus['state'] = 'standby'
  #next: bigint | undefined

  constructor(options: ChannelReaderOptions) {
    this.#options = options
    this.#markStream = foreignEvents.of(foreignChannelId(options.channel.name)).stream
  }

  start(): void {
    const { channel, pool, logger, standbyMs } = this.#options
    this.#running = runOnOneInstance({
      lock: `foreign channel ${channel.name}`,
      pool,
      logger,
      standbyMs,
      signal: this.#closing.signal,
      work: (signal) => this.#work(signal),
      onStandby: () => void (this.#state = 'standby'),
    })
  }

  /** Finishes the record in hand. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
    this.#state = 'closed'
  }

  status(): ChannelReaderStatus {
    return { channel: this.#options.channel.name, state: this.#state, next: this.#next }
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { logger, channel, pollMs = 1_000 } = this.#options
    this.#next = undefined
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        this.#next ??= await this.#place()
        const count = await this.#readPage(this.#next, signal)
        this.#state = 'running'
        attempt = 0
        if (count < pageSize) await pause(pollMs, signal)
      } catch (error) {
        this.#state = 'blocked'
        // After a failure the stored place is the safe one.
        this.#next = undefined
        const reason = error instanceof EventStoreError ? error.code : 'unknown'
        logger.warn({ channel: channel.name, attempt, reason, err: error }, 'a foreign channel cannot be recorded')
        await pause(backoffMs(backoff, attempt), signal)
      }
    }
  }

  /** The stored place. A channel without one is new: it is read from its end, which is stored before the first read. */
  async #place(): Promise<bigint> {
    const { store, channel } = this.#options
    const stored = await store.readMark(this.#markStream, nextMember)
    if (stored !== undefined) return BigInt(stored)
    let next = 0n
    for await (const last of store.readUnsigned(channel.name, { from: 'end', direction: 'backwards', limit: 1 }))
      next = last.revision + 1n
    await store.writeMark(this.#markStream, nextMember, next.toString())
    return next
  }

  async #readPage(from: bigint, signal: AbortSignal): Promise<number> {
    const { store, channel, failpoint } = this.#options
    let count = 0
    let next = from
    for await (const message of store.readUnsigned(channel.name, { from, direction: 'forwards', limit: pageSize })) {
      if (signal.aborted) break
      await this.#record(message)
      failpoint('foreign-event-recorded')
      count += 1
      next = message.revision + 1n
    }
    if (next !== from) await store.writeMark(this.#markStream, nextMember, next.toString())
    this.#next = next
    return count
  }

  async #record(message: ForeignMessage): Promise<void> {
    const { store, channel, logger, now } = this.#options
    const event = foreignEventOf(channel, message, now())
    const { foreignEventId: commandId } = event.data
    // The key that encrypts the data of an event without one organisation is kept under none.
    const orgId = event.type === 'ForeignEventReceived' ? (event.data.orgId ?? noOrganisation) : undefined
    const target = { ...foreignEvents.of(commandId), isNew: true }
    const context = { commandId, correlationId: commandId, orgId, process: 'foreign_events' }
    const { events } = await execute(store, target, (state) => recordForeignEvent({ event }, state), context)
    if (events.length === 0 || event.type === 'ForeignEventReceived') return
    const { eventId, eventType, reason } = event.data
    logger.warn({ channel: channel.name, eventId, eventType, reason }, 'an event of a foreign channel is rejected')
  }
}

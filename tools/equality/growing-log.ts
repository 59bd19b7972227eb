import { pause } from '../../platform/kit/backoff.ts'
import type { LogBatch, LogRead } from '../../engine/store/log-reading.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import { comparePositions, startOfLog, type Position } from '../../platform/kit/positions.ts'
import type { AllSubscription, RunningSubscription } from '../../engine/store/subscription-options.ts'

/** How a log delivers its events. Each list is used cyclically. */
export interface Delivery {
  /** Number of events in each batch. */
  readonly batches: readonly number[]
  /** Number of events before its position that a subscription receives again. */
  readonly repeated: readonly number[]
  /** A checkpoint follows after this many batches. 0 means never. */
  readonly checkpointEvery: number
}

/** A log in memory with the interface of the store. More and more of it becomes readable. */
export class GrowingLog {
  readonly #events: readonly RecordedEvent[]
  readonly #delivery: Delivery
  readonly #open = new Set<() => void>()
  #reached = 0
  #batch = 0
  #subscription = 0
  #grown = new AbortController()

  constructor(events: readonly RecordedEvent[], delivery: Delivery) {
    this.#events = events
    this.#delivery = delivery
  }

  /** Position of the newest readable event. */
  get newest(): Position {
    return this.#events[this.#reached - 1]?.position ?? startOfLog
  }

  async head(): Promise<Position> {
    return this.newest
  }

  /** Reads a part of the log for a rebuild, as the store does. */
  async *readLog({ after, upTo, wants, batchSize }: LogRead): AsyncGenerator<LogBatch, void, undefined> {
    const within = this.#events.filter(
      ({ position }) => comparePositions(position, after) > 0 && comparePositions(position, upTo) <= 0,
    )
    for (let first = 0; first < within.length; first += batchSize) {
      const batch = within.slice(first, first + batchSize)
      const last = first + batchSize >= within.length ? upTo : (batch.at(-1)?.position ?? upTo)
      yield {
        events: batch.filter(({ type }) => wants(type)),
        undecodable: [],
        position: last,
        considered: batch.length,
      }
    }
    if (within.length === 0) yield { events: [], undecodable: [], position: upTo, considered: 0 }
  }

  /** Makes the first `count` events readable. */
  reach(count: number): void {
    this.#reached = Math.max(this.#reached, Math.min(count, this.#events.length))
    this.#grown.abort()
    this.#grown = new AbortController()
  }

  /** Ends every subscription with an error, as a failing handler or server does. */
  breakSubscriptions(): void {
    for (const breakOff of this.#open) breakOff()
  }

  subscribeToAll(options: AllSubscription): RunningSubscription {
    const broken = new AbortController()
    const breakOff = (): void => broken.abort()
    this.#open.add(breakOff)
    const ended = this.#deliver(options, broken.signal).finally(() => this.#open.delete(breakOff))
    const position = options.from
    return {
      ended,
      stats: () => ({
        name: options.name,
        connected: true,
        caughtUp: true,
        behindSince: null,
        lastEventAt: null,
        position,
        restarts: 0,
      }),
    }
  }

  async #deliver(options: AllSubscription, broken: AbortSignal): Promise<void> {
    const from = options.from === 'start' ? startOfLog : options.from
    const first = this.#events.findIndex(({ position }) => comparePositions(position, from) > 0)
    let next = Math.max(
      0,
      (first === -1 ? this.#events.length : first) - this.#turn(this.#delivery.repeated, this.#subscription),
    )
    this.#subscription += 1
    const over = AbortSignal.any([options.signal, broken])
    for (let isReported = false; !over.aborted;) {
      const batch = this.#events.slice(
        next,
        Math.min(this.#reached, next + Math.max(1, this.#turn(this.#delivery.batches, this.#batch))),
      )
      const last = batch.at(-1)
      if (last === undefined) {
        if (!isReported) await options.onCaughtUp?.()
        isReported = true
        const grown = this.#grown.signal
        if (next >= this.#reached) await pause(60_000, AbortSignal.any([over, grown]))
        continue
      }
      next += batch.length
      this.#batch += 1
      if (options.onBatch !== undefined) await options.onBatch(batch)
      else for (const event of batch) await options.onEvent?.(event)
      const { checkpointEvery } = this.#delivery
      // A position between two events, as the server sends one after excluded events.
      if (checkpointEvery > 0 && this.#batch % checkpointEvery === 0)
        await options.onCheckpoint?.({ commit: last.position.commit, prepare: last.position.prepare + 1n })
    }
    if (broken.aborted && !options.signal.aborted) throw new Error('the subscription was cut off')
  }

  #turn(list: readonly number[], count: number): number {
    return list[count % Math.max(1, list.length)] ?? 0
  }
}

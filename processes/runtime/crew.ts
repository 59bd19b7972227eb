import type { Logger } from '../../platform/observability/logging.ts'
import { Bell } from './bell.ts'
import type { Desk } from './desk.ts'
import { persistently } from './persistently.ts'

export interface CrewOptions {
  /** Steps at a time. */
  readonly workers: number
  readonly pollMs: number
  readonly now: () => Date
  readonly logger: Logger
  readonly closing: AbortSignal
}

/** Milliseconds between two sweeps of forgotten claims. */
const sweepMs = 60_000

/** Workers that several processes share, or that are one process's own. */
export class Crew {
  readonly #options: CrewOptions
  readonly #desks: Desk[] = []
  readonly #bell = new Bell()
  #turn = 0
  #sweptAt = 0
  /** On the monotonic clock. */
  #polledMs = Number.NEGATIVE_INFINITY

  constructor(options: CrewOptions) {
    this.#options = options
  }

  get desks(): readonly Desk[] {
    return this.#desks
  }

  add(desk: Desk): void {
    this.#desks.push(desk)
  }

  /** Looks for work now, of every process. */
  wake(): void {
    for (const desk of this.#desks) desk.stir()
    this.#bell.ring()
  }

  /** Looks for work of the processes that are stirred, and at what is to be given back. */
  ring(): void {
    this.#bell.ring()
  }

  /** Takes what is due, round after round, until the crew is closed. */
  async work(): Promise<void> {
    const { logger, closing } = this.#options
    while (!closing.aborted) {
      const waitMs = (await persistently(() => this.#round(), logger, closing)) ?? 0
      if (await this.#bell.heard(waitMs)) await this.#gather()
    }
  }

  /** Gives back what is done. */
  async settle(): Promise<void> {
    for (const desk of this.#desks) await desk.settle('all')
  }

  /** One round is to serve many wakes, where they come one after the other. */
  async #gather(): Promise<void> {
    while (!this.#options.closing.aborted) {
      const stirred = this.#desks.filter(({ isReady, isStirred }) => isReady && isStirred)
      const leftMs =
        stirred.length === 0 ? 0 : Math.min(...stirred.map((desk) => desk.restsUntilMs)) - performance.now()
      if (leftMs <= 0) return
      await this.#bell.heard(leftMs)
    }
  }

  /** Gives back what is done, takes what is due, and returns how long nothing else will be, in milliseconds. */
  async #round(): Promise<number> {
    const { pollMs, workers } = this.#options
    this.#poll()
    const ready = this.#desks.filter((desk) => desk.isReady)
    for (const desk of ready) desk.stirWhenDue()
    const inTurn = [...ready.keys()]
      .map((offset) => ready[(this.#turn + offset) % ready.length])
      .filter((desk) => desk !== undefined)
    const order = inTurn.filter(({ isStirred }) => isStirred)
    this.#turn += 1
    // Each process gets its share first, so that the work of one does not hold up the others.
    const share = Math.max(1, Math.floor(workers / Math.max(1, ready.length)))
    const hungry: Desk[] = []
    for (const desk of order) {
      if (desk.inHand >= share || (await this.#take(desk, share - desk.inHand))) hungry.push(desk)
    }
    // What a process takes beyond its share still leaves a worker or two to each other one: calls of one that hang for
    // their whole time limit must not keep those of another waiting.
    const kept = Math.max(1, Math.floor(share / 2))
    const most = Math.max(share, workers - kept * (ready.length - 1))
    for (const desk of hungry) await this.#take(desk, most - desk.inHand)
    for (const desk of this.#desks) await desk.settle('ripe')
    await this.#sweep(ready)
    const open = this.#inHand >= workers ? [] : ready.filter((desk) => desk.inHand < most)
    for (const desk of open) await desk.lookAhead()
    // A process at its limit is looked at again when one of its steps ends, which wakes us.
    const waits = [...open.map((desk) => desk.nextLookMs()), ...this.#desks.map((desk) => desk.nextSettlementMs())]
    const pollsInMs = this.#polledMs + pollMs - performance.now()
    return Math.max(1, Math.min(pollsInMs, ...waits.filter((ms) => ms !== undefined)))
  }

  /** Now and then all are looked at, whatever has been told of them. */
  #poll(): void {
    const nowMs = performance.now()
    // Timers may fire a little early.
    if (nowMs < this.#polledMs + this.#options.pollMs - 1) return
    this.#polledMs = nowMs
    for (const desk of this.#desks) desk.stir()
  }

  /** True when the process may have more work than it was given workers. */
  async #take(desk: Desk, most: number): Promise<boolean> {
    const limit = Math.min(most, this.#options.workers - this.#inHand)
    return limit > 0 && !this.#options.closing.aborted && (await desk.take(limit))
  }

  async #sweep(desks: readonly Desk[]): Promise<void> {
    const now = this.#options.now()
    if (now.getTime() - this.#sweptAt < sweepMs) return
    this.#sweptAt = now.getTime()
    for (const desk of desks) await desk.sweep(now)
  }

  get #inHand(): number {
    return this.#desks.reduce((sum, { inHand }) => sum + inHand, 0)
  }
}

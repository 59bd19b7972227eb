import type { Logger } from '../../platform/logging.ts'
import { pause } from '../../streams/store/backoff.ts'
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
  #wake = new AbortController()
  #turn = 0
  #sweptAt = 0

  constructor(options: CrewOptions) {
    this.#options = options
  }

  get desks(): readonly Desk[] {
    return this.#desks
  }

  add(desk: Desk): void {
    this.#desks.push(desk)
  }

  /** Looks for work now. */
  wake(): void {
    this.#wake.abort()
  }

  /** Takes what is due, round after round, until the crew is closed. */
  async work(): Promise<void> {
    const { logger, closing } = this.#options
    while (!closing.aborted) {
      this.#wake = new AbortController()
      const waitMs = (await persistently(() => this.#round(), logger, closing)) ?? 0
      if (waitMs > 0) await pause(waitMs, AbortSignal.any([this.#wake.signal, closing]))
    }
  }

  /** Gives back what is done. */
  async settle(): Promise<void> {
    for (const desk of this.#desks) await desk.settle()
  }

  /** Gives back what is done, takes what is due, and returns how long nothing else will be, in milliseconds. */
  async #round(): Promise<number> {
    const { pollMs, workers, now } = this.#options
    await this.settle()
    const ready = this.#desks.filter((desk) => desk.isReady)
    const order = [...ready.keys()].map((offset) => ready[(this.#turn + offset) % ready.length]).filter((desk) => desk !== undefined)
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
    await this.#sweep(ready)
    if (this.#inHand >= workers) return pollMs
    // A process at its limit is looked at again when one of its steps ends, which wakes us.
    const next = await Promise.all(ready.filter((desk) => desk.inHand < most).map((desk) => desk.nextDue()))
    const nextMs = next.flatMap((due) => (due === undefined ? [] : [due.getTime() - now().getTime()]))
    return Math.max(1, Math.min(pollMs, ...nextMs))
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

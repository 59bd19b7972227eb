import type { Logger } from '../../platform/observability/logging.ts'
import { WakeUpSignal } from './wake-up-signal.ts'
import type { ProcessWorker } from './process-worker.ts'
import { retryUntilDone } from './retry-until-done.ts'

export interface WorkerPoolOptions {
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
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #processWorkers: ProcessWorker[] = []
  readonly #wakeUp = new WakeUpSignal()
  #turn = 0
  #sweptAt = 0
  /** On the monotonic clock. */
  #polledMs = Number.NEGATIVE_INFINITY

  constructor(options: WorkerPoolOptions) {
    this.#options = options
  }

  get processWorkers(): readonly ProcessWorker[] {
    return this.#processWorkers
  }

  add(worker: ProcessWorker): void {
    this.#processWorkers.push(worker)
  }

  /** Looks for work of every process now. */
  wake(): void {
    for (const worker of this.#processWorkers) worker.stir()
    this.#wakeUp.send()
  }

  /** Looks for work of the processes that have news, and completes what is done. */
  wakeStirred(): void {
    this.#wakeUp.send()
  }

  /** Takes what is due, round after round, until the pool is closed. */
  async work(): Promise<void> {
    const { logger, closing } = this.#options
    while (!closing.aborted) {
      const waitMs = (await retryUntilDone(() => this.#round(), logger, closing)) ?? 0
      if (await this.#wakeUp.wait(waitMs)) await this.#gather()
    }
  }

  /** Gives back what is done. */
  async settle(): Promise<void> {
    for (const worker of this.#processWorkers) await worker.settle('all')
  }

  /** One round is to serve many wakes, where they come one after the other. */
  async #gather(): Promise<void> {
    while (!this.#options.closing.aborted) {
      const stirred = this.#processWorkers.filter(({ isReady, isStirred }) => isReady && isStirred)
      const leftMs =
        stirred.length === 0 ? 0 : Math.min(...stirred.map((worker) => worker.restsUntilMs)) - performance.now()
      if (leftMs <= 0) return
      await this.#wakeUp.wait(leftMs)
    }
  }

  /** Gives back what is done, takes what is due, and returns how long nothing else will be, in milliseconds. */
  async #round(): Promise<number> {
    const { pollMs, workers } = this.#options
    this.#poll()
    const ready = this.#processWorkers.filter((worker) => worker.isReady)
    for (const worker of ready) worker.stirWhenDue()
    const inTurn = [...ready.keys()]
      .map((offset) => ready[(this.#turn + offset) % ready.length])
      .filter((worker) => worker !== undefined)
    const order = inTurn.filter(({ isStirred }) => isStirred)
    this.#turn += 1
    // Each process gets its share first, so that the work of one does not hold up the others.
    const share = Math.max(1, Math.floor(workers / Math.max(1, ready.length)))
    const hungry: ProcessWorker[] = []
    for (const worker of order) {
      if (worker.inHand >= share || (await this.#take(worker, share - worker.inHand))) hungry.push(worker)
    }
    // What a process takes beyond its share still leaves a worker or two to each other one: calls of one that hang for
    // their whole time limit must not keep those of another waiting.
    const kept = Math.max(1, Math.floor(share / 2))
    const most = Math.max(share, workers - kept * (ready.length - 1))
    for (const worker of hungry) await this.#take(worker, most - worker.inHand)
    for (const worker of this.#processWorkers) await worker.settle('ripe')
    await this.#sweep(ready)
    const open = this.#inHand >= workers ? [] : ready.filter((worker) => worker.inHand < most)
    for (const worker of open) await worker.lookAhead()
    // A process at its limit is looked at again when one of its steps ends, which wakes us.
    const waits = [
      ...open.map((worker) => worker.nextLookMs()),
      ...this.#processWorkers.map((worker) => worker.nextSettlementMs()),
    ]
    const pollsInMs = this.#polledMs + pollMs - performance.now()
    return Math.max(1, Math.min(pollsInMs, ...waits.filter((ms) => ms !== undefined)))
  }

  /** Now and then all are looked at, whatever has been told of them. */
  #poll(): void {
    const nowMs = performance.now()
    // Timers may fire a little early.
    if (nowMs < this.#polledMs + this.#options.pollMs - 1) return
    this.#polledMs = nowMs
    for (const worker of this.#processWorkers) worker.stir()
  }

  /** True when the process may have more work than it was given workers. */
  async #take(worker: ProcessWorker, most: number): Promise<boolean> {
    const limit = Math.min(most, this.#options.workers - this.#inHand)
    return limit > 0 && !this.#options.closing.aborted && (await worker.take(limit))
  }

  async #sweep(processWorkers: readonly ProcessWorker[]): Promise<void> {
    const now = this.#options.now()
    if (now.getTime() - this.#sweptAt < sweepMs) return
    this.#sweptAt = now.getTime()
    for (const worker of processWorkers) await worker.sweep(now)
  }

  get #inHand(): number {
    return this.#processWorkers.reduce((sum, { inHand }) => sum + inHand, 0)
  }
}

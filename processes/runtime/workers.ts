import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import { readCheckpoints } from '../../projections/runtime/checkpoints.ts'
import type { Advance } from '../../projections/runtime/runner-options.ts'
import { pause } from '../../platform/kit/backoff.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import type { EventFilter } from '../../streams/store/subscription-options.ts'
import type { BoundProcess } from './bound-process.ts'
import { WorkerPool } from './worker-pool.ts'
import { ProcessWorker } from './process-worker.ts'
import { longestLeaseMs } from './step-timing.ts'
import { retryUntilDone } from './retry-until-done.ts'
import { changedLists, listenForLists, type ListWord } from './wake-ups.ts'

export interface WorkersOptions {
  readonly eventStore: Pick<EventStore, 'head'>
  /** `createClaimsPool`. */
  readonly pool: Pool
  readonly processes: readonly BoundProcess[]
  /** The projection runner's filter. */
  readonly filter: EventFilter
  readonly logger: Logger
  /** A runner of the same process wakes workers in memory, beside what Postgres tells of the runners of others. */
  readonly runner?: { onAdvance(listener: (advance: Advance) => void): () => void }
  readonly now?: () => Date
  /** Steps at a time, of all processes without lanes. Default 10. */
  readonly workers?: number
  /** Default 15,000. */
  readonly stepTimeoutMs?: number
  /** Longer than the time limit, at most 60,000. Default 20,000. */
  readonly stepLeaseMs?: number
  /** Milliseconds between two schedule when nothing wakes the workers. Default 1,000. */
  readonly pollMs?: number
  readonly random?: () => number
}

/** Works off the to-do lists of processes. Several instances share them. */
export function createWorkers(options: WorkersOptions): Workers {
  return new Workers(options)
}

export class Workers {
  readonly #options: WorkersOptions
  readonly #workerPools: readonly WorkerPool[]
  readonly #closing = new AbortController()
  readonly #aborting = new AbortController()
  #unsubscribe: (() => void) | undefined
  #loops: Promise<unknown> = Promise.resolve()

  constructor(options: WorkersOptions) {
    const { stepTimeoutMs = 15_000, stepLeaseMs = 20_000 } = options
    if (stepTimeoutMs >= stepLeaseMs) throw new RangeError('the time limit of a step must be shorter than its lease')
    this.#options = options
    this.#workerPools = this.#workerPoolsOf(stepTimeoutMs, stepLeaseMs)
  }

  /** Begins; nothing is claimed of a list before it has reached the head of the log as of now. */
  start(): void {
    const { pool, runner, logger } = this.#options
    this.#unsubscribe = runner?.onAdvance((advance) => this.#written(advance))
    // A list's projector runs in one instance only, which may be another one than ours.
    const listening = listenForLists(
      pool,
      { connected: () => this.wake(), told: (words) => this.#told(words) },
      logger,
      this.#closing.signal,
    )
    this.#loops = Promise.all([
      this.#untilReady(),
      ...this.#workerPools.map((workerPool) => workerPool.work()),
      listening,
    ])
  }

  /** Looks for work now. */
  wake(): void {
    for (const workerPool of this.#workerPools) workerPool.wake()
  }

  /** True once every list has reached the head that was read at the start. */
  isReady(): boolean {
    return this.#processWorkers.every((worker) => worker.isReady)
  }

  /** Waits for the steps in hand, aborts those that take longer, and gives their claims back. */
  async close(limitMs = 5_000): Promise<void> {
    this.#closing.abort()
    this.#unsubscribe?.()
    this.wake()
    await this.#loops
    const timer = setTimeout(() => this.#aborting.abort(), limitMs)
    await Promise.all(this.#processWorkers.map((worker) => worker.finish()))
    clearTimeout(timer)
    // Claims that cannot be given back end with their lease.
    const settled = await Promise.allSettled(this.#workerPools.map((workerPool) => workerPool.settle()))
    for (const result of settled) {
      if (result.status === 'rejected')
        this.#options.logger.warn(
          { component: 'processes', err: result.reason as unknown },
          'claims were not given back',
        )
    }
  }

  #written(advance: Advance): void {
    const changed = new Set(changedLists(advance))
    for (const workerPool of this.#workerPools) {
      const concerned = workerPool.processWorkers.filter(({ process }) =>
        advance.projectors.includes(process.list.name),
      )
      for (const worker of concerned) worker.listWritten(advance.position, changed.has(worker.process.list.name))
      if (concerned.length > 0) workerPool.wakeStirred()
    }
  }

  #told(words: readonly ListWord[]): void {
    for (const workerPool of this.#workerPools) {
      for (const { list, position } of words)
        for (const worker of workerPool.processWorkers)
          if (worker.process.list.name === list) worker.listChanged(position)
      workerPool.wakeStirred()
    }
  }

  get #processWorkers(): readonly ProcessWorker[] {
    return this.#workerPools.flatMap(({ processWorkers }) => processWorkers)
  }

  /** One workerPool for all processes, and one of its own for each that has lanes. */
  #workerPoolsOf(stepTimeoutMs: number, stepLeaseMs: number): WorkerPool[] {
    const {
      pool,
      processes,
      logger,
      workers = 10,
      pollMs = 1_000,
      now = () => new Date(),
      random = Math.random,
    } = this.#options
    const workerId = randomUUID()
    const found = (size: number) =>
      new WorkerPool({ workers: size, pollMs, now, logger, closing: this.#closing.signal })
    const everyones = found(workers)
    const own: WorkerPool[] = []
    for (const process of processes) {
      const { lanes } = process
      const workerPool = lanes === undefined ? everyones : found(lanes.slots)
      const timeoutMs = lanes?.stepTimeoutMs ?? stepTimeoutMs
      const leaseMs = Math.min(longestLeaseMs, timeoutMs + stepLeaseMs - stepTimeoutMs)
      if (timeoutMs >= leaseMs) throw new RangeError(`steps of ${process.name} may take longer than any lease`)
      const limits = {
        stepTimeoutMs: timeoutMs,
        stepLeaseMs: leaseMs,
        closing: this.#closing.signal,
        aborting: this.#aborting.signal,
      }
      workerPool.add(
        new ProcessWorker(process, {
          pool,
          workerId,
          logger,
          now,
          random,
          ...limits,
          onStepEnd: () => workerPool.wakeStirred(),
        }),
      )
      if (workerPool !== everyones) own.push(workerPool)
    }
    return [everyones, ...own].filter(({ processWorkers }) => processWorkers.length > 0)
  }

  async #untilReady(): Promise<void> {
    const { eventStore, filter, logger } = this.#options
    const closing = this.#closing.signal
    const head = await retryUntilDone(() => eventStore.head(filter), logger, closing)
    if (head === undefined) return
    while (!this.isReady() && !closing.aborted) {
      await retryUntilDone(() => this.#admit(head), logger, closing)
      if (!this.isReady()) await pause(25, closing)
    }
  }

  async #admit(head: Position): Promise<void> {
    const checkpoints = await readCheckpoints(
      this.#options.pool,
      this.#processWorkers.map(({ process }) => process.list.name),
    )
    for (const worker of this.#processWorkers) {
      const { name, version } = worker.process.list
      const checkpoint = checkpoints.get(name)
      if (worker.isReady || checkpoint?.version !== version || comparePositions(checkpoint.position, head) < 0) continue
      worker.isReady = true
      this.wake()
    }
  }
}

import { randomUUID } from 'node:crypto'
import type { Parking } from './claims.ts'
import type { Pool } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import { noTracer, type Tracer } from '../../platform/kit/tracing.ts'
import type { EventStore } from '../store/event-store.ts'
import type { EventFilter } from '../store/subscription-options.ts'
import type { BatchPart } from '../projections/checkpoint-moves.ts'
import type { Addition, JoinedOptions } from '../projections/joined-writes.ts'
import type { BoundProcess } from './bound-process.ts'
import { claimsAddition, nameOfClaim } from './claim-statements.ts'
import { InstanceIdentity } from './instance-identity.ts'
import { ProcessWorker } from './process-worker.ts'
import { retryUntilDone } from './retry-until-done.ts'
import { longestLeaseMs } from './step-timing.ts'
import { Listeners, listenForLists, newsOf, type AdvanceSource } from './wake-ups.ts'
import { WorkerBudget } from './worker-budget.ts'

interface ListRunner extends AdvanceSource {
  addToBatches(addTo: JoinedOptions['addTo']): () => void
  /** Whether this instance fills the list, and has caught up. */
  isLive(list: string): boolean
}

export interface WorkersOptions {
  readonly eventStore: Pick<EventStore, 'head'>
  /** `createClaimsPool`. */
  readonly pool: Pool
  readonly processes: readonly BoundProcess[]
  /** The projection runner's filter. */
  readonly filter: EventFilter
  readonly logger: Logger
  /** The runner of this instance wakes workers in memory. Postgres notifies of the runners of other instances. */
  readonly runner?: ListRunner
  /** What this instance knows of others. The notification of other instances needs it, too. */
  readonly listeners?: Listeners
  readonly now?: () => Date
  /** Steps at a time, of all processes without concurrency keys. Default 10. */
  readonly workers?: number
  /** Default 15,000. */
  readonly stepTimeoutMs?: number
  /** Longer than the time limit, at most 60,000. Default 20,000. */
  readonly stepLeaseMs?: number
  /** Default: after 20 runs that threw, a try each hour. */
  readonly parking?: Parking
  /** Default: none. */
  readonly tracer?: Tracer
  /**
   * Milliseconds after which a worker looks for rows without news. Default 1,000. While this instance fills the list and
   * no other instance listens, it looks every 15 seconds.
   */
  readonly pollMs?: number
  readonly random?: () => number
  /** Name of this instance. With it, a start continues at once what an earlier run of the same instance left. */
  readonly instance?: string | undefined
}

/** Works off the to-do lists of processes. Several instances share them. */
export function createWorkers(options: WorkersOptions): Workers {
  return new Workers(options)
}

export class Workers {
  readonly #options: WorkersOptions
  readonly #workers: readonly ProcessWorker[]
  readonly #closing = new AbortController()
  readonly #aborting = new AbortController()
  #unsubscribe: (() => void) | undefined
  readonly #identity: InstanceIdentity | undefined
  readonly #worker = { id: randomUUID() as string }
  readonly #listeners: Listeners
  #loops: Promise<unknown> = Promise.resolve()

  constructor(options: WorkersOptions) {
    this.#options = options
    const { instance, pool, logger, listeners = new Listeners() } = options
    this.#listeners = listeners
    const signal = this.#closing.signal
    this.#identity = instance === undefined ? undefined : new InstanceIdentity({ instance, pool, logger, signal })
    const shared = new WorkerBudget(options.workers ?? 10)
    this.#workers = options.processes.map((process) => this.#workerOf(process, shared))
  }

  /** Begins. Nothing is claimed of a list before the list contains the log up to its present head. */
  start(): void {
    const { pool, runner, logger } = this.#options
    const unsubscribe = runner?.onAdvance((advance) => {
      const news = newsOf(advance)
      for (const worker of this.#workers) worker.hear(news.get(worker.process.list.name))
    })
    const end = runner?.addToBatches((parts) => this.#claimsOf(parts))
    this.#unsubscribe = () => {
      unsubscribe?.()
      end?.()
    }
    // Only one instance runs the projector of a list, and it may be another one.
    const listener = {
      connected: () => this.wake(),
      changed: (lists: readonly string[], isFromHere: boolean) => {
        if (runner === undefined || !isFromHere) this.#wakeFor(lists)
      },
    }
    const listening = listenForLists(pool, listener, this.#listeners, logger, this.#closing.signal)
    this.#loops = Promise.all([this.#work(), listening])
  }

  /** Looks for work now. */
  wake(): void {
    for (const worker of this.#workers) worker.hear('unknown')
  }

  /** Waits for the running steps, aborts steps that take longer, and gives the claims back. */
  async close(limitMs = 5_000): Promise<void> {
    this.#closing.abort()
    this.#unsubscribe?.()
    this.wake()
    await this.#loops
    const timer = setTimeout(() => this.#aborting.abort(), limitMs)
    await Promise.all(this.#workers.map((worker) => worker.finish()))
    clearTimeout(timer)
    await this.#identity?.close().catch(() => undefined)
    // A claim that cannot be given back ends with its lease.
    for (const result of await Promise.allSettled(this.#workers.map((worker) => worker.giveBack()))) {
      if (result.status === 'fulfilled') continue
      const err: unknown = result.reason
      this.#options.logger.warn({ component: 'processes', err }, 'claims were not given back')
    }
  }

  /** The claims of the rows that a batch makes due now, for the statement that writes them. */
  #claimsOf(parts: readonly BatchPart[]): Addition | undefined {
    const takings = this.#workers.flatMap((worker) => {
      const part = parts.find(({ projector }) => projector.name === worker.process.list.name)
      return part === undefined ? [] : worker.take(part)
    })
    if (takings.length === 0) return undefined
    return claimsAddition(
      this.#worker.id,
      takings.map(({ claim }) => claim),
      (added) => {
        for (const { claim, settle } of takings) settle(added?.includes(nameOfClaim(claim)))
      },
    )
  }

  #wakeFor(lists: readonly string[]): void {
    for (const worker of this.#workers) if (lists.includes(worker.process.list.name)) worker.hear('unknown')
  }

  async #work(): Promise<void> {
    const { eventStore, filter, logger } = this.#options
    await retryUntilDone(() => this.#takeOver(), logger, this.#closing.signal)
    const head = await retryUntilDone(() => eventStore.head(filter), logger, this.#closing.signal)
    if (head !== undefined) await Promise.all(this.#workers.map((worker) => worker.work(head)))
  }

  /** Ends the claims of earlier runs of this instance. Comes before the first claim. */
  async #takeOver(): Promise<void> {
    const { instance } = this.#options
    if (instance === undefined || (await this.#identity?.take()) !== true) return
    this.#worker.id = `${instance}/${randomUUID()}`
    await Promise.all(this.#workers.map((worker) => worker.takeOverFrom(instance)))
  }

  /** A process with concurrency keys has workers and a time limit of its own. All others share theirs. */
  #workerOf(process: BoundProcess, shared: WorkerBudget): ProcessWorker {
    const { pool, logger, pollMs = 1_000, now = () => new Date(), random = Math.random } = this.#options
    const { stepTimeoutMs = 15_000, stepLeaseMs = 20_000 } = this.#options
    const { concurrency } = process
    const timeoutMs = concurrency?.stepTimeoutMs ?? stepTimeoutMs
    const leaseMs = Math.min(longestLeaseMs, timeoutMs + stepLeaseMs - stepTimeoutMs)
    if (timeoutMs >= leaseMs) throw new RangeError(`the time limit of ${process.name} steps is not within their lease`)
    return new ProcessWorker(process, {
      pool,
      worker: this.#worker,
      logger,
      now,
      random,
      pollMs,
      hearsOf: () => this.#options.runner?.isLive(process.list.name) === true && !this.#listeners.mayBeOthers(),
      budget: concurrency === undefined ? shared : new WorkerBudget(concurrency.workers),
      stepTimeoutMs: timeoutMs,
      stepLeaseMs: leaseMs,
      parking: this.#options.parking,
      tracer: this.#options.tracer ?? noTracer,
      closing: this.#closing.signal,
      aborting: this.#aborting.signal,
    })
  }
}

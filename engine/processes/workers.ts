import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import { noTracer } from '../../platform/kit/tracing.ts'
import type { EventStore } from '../store/event-store.ts'
import type { EventFilter } from '../store/subscription-options.ts'
import type { BatchPart } from '../projections/checkpoint-moves.ts'
import type { Addition } from '../projections/joined-writes.ts'
import type { ProjectionRunner } from '../projections/runner.ts'
import { claimsAddition } from './claim-statements.ts'
import { endClaimsOf, usualParking } from './claims.ts'
import { InstanceIdentity } from '../../platform/database/instance-identity.ts'
import type { BoundProcess } from './process.ts'
import { ProcessWorker, type WorkerSettings } from './process-worker.ts'
import { retryUntilDone } from './retry-until-done.ts'
import { Listeners, listenForLists, newsOf } from './wake-ups.ts'
import { WorkerBudget } from './worker-budget.ts'

export interface WorkersOptions extends Partial<WorkerSettings> {
  readonly eventStore: Pick<EventStore, 'head'>
  /** `createClaimsPool`. */
  readonly pool: Pool
  readonly processes: readonly BoundProcess[]
  /** The projection runner's filter. */
  readonly filter: EventFilter
  readonly logger: Logger
  /** The runner of this instance wakes workers in memory. Postgres notifies of the runners of other instances. */
  readonly runner?: Pick<ProjectionRunner, 'onAdvance' | 'addToBatches' | 'isLive'>
  /** What this instance knows of others. The notification of other instances needs it, too. */
  readonly listeners?: Listeners
  /** Steps at a time, of all processes without concurrency keys. */
  readonly workers?: number
  /** Name of this instance. With it, a start continues at once what an earlier run of the same instance left. */
  readonly instance?: string | undefined
}

/** No lease is longer, in milliseconds: it is how long a step waits after a crash in the middle of it. */
const longestLeaseMs = 60_000

const usual = () => ({
  now: () => new Date(),
  random: Math.random,
  workers: 10,
  pollMs: 1_000,
  stepTimeoutMs: 15_000,
  stepLeaseMs: 20_000,
  parking: usualParking,
  tracer: noTracer,
  listeners: new Listeners(),
})

/** Works off the to-do lists of processes. Several instances share them. */
export class Workers {
  readonly #options: WorkersOptions & ReturnType<typeof usual>
  readonly #workers: readonly ProcessWorker[]
  readonly #closing = new AbortController()
  readonly #aborting = new AbortController()
  #subscriptions: readonly (() => void)[] = []
  #identity: InstanceIdentity | undefined
  readonly #worker = { id: randomUUID() as string }
  #loops: Promise<unknown> = Promise.resolve()

  constructor(options: WorkersOptions) {
    this.#options = { ...usual(), ...options }
    const shared = new WorkerBudget(this.#options.workers)
    this.#workers = options.processes.map((process) => this.#workerOf(process, shared))
  }

  /** Begins. Nothing is claimed of a list before the list contains the log up to its present head. */
  start(): void {
    const { pool, runner, logger, listeners } = this.#options
    if (runner !== undefined) {
      const hear = runner.onAdvance((advance) => {
        const news = newsOf(advance)
        for (const worker of this.#workers) worker.hear(news.get(worker.process.list.name))
      })
      this.#subscriptions = [hear, runner.addToBatches((parts) => this.#claimsOf(parts))]
    }
    const hear = (lists: readonly string[] | undefined, isFromHere: boolean) => {
      // Only one instance runs the projector of a list, and it may be another one.
      if (runner === undefined || !isFromHere) this.wake(lists)
    }
    const listening = listenForLists(pool, hear, listeners, logger, this.#closing.signal)
    this.#loops = Promise.all([this.#work(), listening])
  }

  /** Looks for work now, in all lists or in these. */
  wake(lists?: readonly string[]): void {
    for (const worker of this.#workers)
      if (lists === undefined || lists.includes(worker.process.list.name)) worker.hear('unknown')
  }

  /** Waits for the running steps, aborts steps that take longer, and gives the claims back. */
  async close(limitMs = 5_000): Promise<void> {
    this.#closing.abort()
    for (const end of this.#subscriptions) end()
    this.wake()
    await this.#loops
    const timer = setTimeout(() => this.#aborting.abort(), limitMs)
    await Promise.all(this.#workers.map((worker) => worker.finish()))
    clearTimeout(timer)
    const { logger } = this.#options
    // A claim that cannot be given back ends with its lease.
    const failed = (err: unknown) => logger.warn({ component: 'processes', err }, 'claims were not given back')
    await Promise.all(this.#workers.map((worker) => worker.giveBack().catch(failed)))
    // Last: the next run of this instance ends its claims without their fences.
    await this.#identity?.close().catch(() => undefined)
  }

  /** For the statement that writes the rows of the batch. */
  #claimsOf(parts: readonly BatchPart[]): Addition | undefined {
    const takings = this.#workers.flatMap((worker) => {
      const part = parts.find(({ projector }) => projector.name === worker.process.list.name)
      return part === undefined ? [] : worker.take(part)
    })
    return takings.length === 0 ? undefined : claimsAddition(this.#worker.id, takings)
  }

  async #work(): Promise<void> {
    const { eventStore, filter, logger } = this.#options
    await retryUntilDone(() => this.#takeOver(), logger, this.#closing.signal)
    const head = await retryUntilDone(() => eventStore.head(filter), logger, this.#closing.signal)
    if (head !== undefined) await Promise.all(this.#workers.map((worker) => worker.work(head)))
  }

  /** Ends the claims of earlier runs of this instance. Comes before the first claim. */
  async #takeOver(): Promise<void> {
    const { instance, pool, logger } = this.#options
    if (instance === undefined) return
    this.#identity ??= new InstanceIdentity(instance, pool, this.#closing.signal)
    if (!(await this.#identity.take())) {
      const why = `another process is the instance ${instance}: steps that a crash cuts off wait for their lease`
      if (!this.#closing.signal.aborted) logger.warn({ component: 'processes', reason: 'INSTANCE_ID' }, why)
      return
    }
    this.#worker.id = `${instance}/${randomUUID()}`
    await endClaimsOf(instance, this.#worker.id, pool)
  }

  /** A process with concurrency keys has workers and a time limit of its own. All others share theirs. */
  #workerOf(process: BoundProcess, shared: WorkerBudget): ProcessWorker {
    const { concurrency } = process
    const { runner, listeners } = this.#options
    const stepTimeoutMs = concurrency?.stepTimeoutMs ?? this.#options.stepTimeoutMs
    const spareMs = this.#options.stepLeaseMs - this.#options.stepTimeoutMs
    const stepLeaseMs = Math.min(longestLeaseMs, stepTimeoutMs + spareMs)
    if (stepTimeoutMs >= stepLeaseMs)
      throw new RangeError(`the time limit of ${process.name} steps is not within their lease`)
    return new ProcessWorker(process, {
      ...this.#options,
      stepTimeoutMs,
      stepLeaseMs,
      worker: this.#worker,
      hearsOf: () => runner?.isLive(process.list.name) === true && !listeners.mayBeOthers(),
      budget: concurrency === undefined ? shared : new WorkerBudget(concurrency.workers),
      closing: this.#closing.signal,
      aborting: this.#aborting.signal,
    })
  }
}

import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { Logger } from '../../platform/logging.ts'
import { readCheckpoints } from '../../projections/runtime/checkpoints.ts'
import type { Projector } from '../../projections/runtime/projector.ts'
import type { Advance } from '../../projections/runtime/runner-options.ts'
import { backoffMs, pause } from '../../streams/store/backoff.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import { comparePositions, type Position } from '../../streams/store/positions.ts'
import type { EventFilter } from '../../streams/store/subscription-options.ts'
import { Claims, type Claimed, type Settlement } from './claims.ts'
import { leaseUntil } from './leases.ts'
import type { Process } from './process.ts'
import { runStep, settlementOf, type BoundStep } from './step-run.ts'
import { changedLists, listenForLists } from './wake-ups.ts'

/** A process with what its steps need, so that processes of different needs share the workers. */
export interface BoundProcess {
  readonly name: string
  readonly list: Pick<Projector, 'name' | 'version'>
  readonly steps: ReadonlyMap<string, BoundStep>
}

export function bindProcess<Deps>(process: Process<Deps>, deps: Deps): BoundProcess {
  const steps = Object.entries(process.steps).map(([name, step]): [string, BoundStep] => [name, (todo, context) => step(todo, deps, context)])
  return { name: process.name, list: process.list, steps: new Map(steps) }
}

export interface WorkersOptions {
  readonly eventStore: Pick<EventStore, 'head'>
  readonly pool: Pool
  readonly processes: readonly BoundProcess[]
  /** The projection runner's filter. */
  readonly filter: EventFilter
  readonly logger: Logger
  /** A runner of the same process wakes workers in memory, beside what Postgres tells of the runners of others. */
  readonly runner?: { onAdvance(listener: (advance: Advance) => void): () => void }
  readonly now?: () => Date
  /** Steps at a time. Default 10. */
  readonly workers?: number
  /** Default 15,000. */
  readonly stepTimeoutMs?: number
  /** Longer than the time limit, at most 60,000. Default 20,000. */
  readonly stepLeaseMs?: number
  /** Milliseconds between two looks when nothing wakes the workers. Default 1,000. */
  readonly pollMs?: number
  readonly random?: () => number
}

interface Desk {
  readonly process: BoundProcess
  readonly claims: Claims
  readonly settlements: Settlement[]
  isReady: boolean
  inHand: number
}

const backoff = { firstMs: 200, mostMs: 5_000 }

/** Milliseconds between two sweeps of forgotten claims. */
const sweepMs = 60_000

/** Works off the to-do lists of processes. Several instances share them. */
export function createWorkers(options: WorkersOptions): Workers {
  return new Workers(options)
}

export class Workers {
  readonly #options: WorkersOptions
  readonly #now: () => Date
  readonly #random: () => number
  readonly #workerId = randomUUID()
  readonly #desks: readonly Desk[]
  readonly #inHand = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  readonly #aborting = new AbortController()
  #wake = new AbortController()
  #unsubscribe: (() => void) | undefined
  #loops: Promise<unknown> = Promise.resolve()
  #turn = 0
  #sweptAt = 0

  constructor(options: WorkersOptions) {
    const { stepTimeoutMs = 15_000, stepLeaseMs = 20_000 } = options
    if (stepTimeoutMs >= stepLeaseMs) throw new RangeError('the time limit of a step must be shorter than its lease')
    this.#options = options
    this.#now = options.now ?? (() => new Date())
    this.#random = options.random ?? Math.random
    this.#desks = options.processes.map((process) => ({
      process,
      claims: new Claims(options.pool, { name: process.name, list: process.list, steps: [...process.steps.keys()] }, this.#workerId),
      settlements: [],
      isReady: false,
      inHand: 0,
    }))
  }

  /** Begins; nothing is claimed of a list before it has reached the head of the log as of now. */
  start(): void {
    const { pool, runner, logger } = this.#options
    const lists = new Set(this.#desks.map(({ process }) => process.list.name))
    this.#unsubscribe = runner?.onAdvance((advance) => {
      if (changedLists(advance).some((list) => lists.has(list))) this.wake()
    })
    // A list's projector runs in one instance only, which may be another one than ours.
    const listening = listenForLists(pool, () => this.wake(), logger, this.#closing.signal)
    this.#loops = Promise.all([this.#untilReady(), this.#dispatch(), listening])
  }

  /** Looks for work now. */
  wake(): void {
    this.#wake.abort()
  }

  /** True once every list has reached the head that was read at the start. */
  isReady(): boolean {
    return this.#desks.every((desk) => desk.isReady)
  }

  /** Waits for the steps in hand, aborts those that take longer, and gives their claims back. */
  async close(limitMs = 5_000): Promise<void> {
    this.#closing.abort()
    this.#unsubscribe?.()
    this.wake()
    await this.#loops
    const timer = setTimeout(() => this.#aborting.abort(), limitMs)
    await Promise.all(this.#inHand)
    clearTimeout(timer)
    // Claims that cannot be given back end with their lease.
    await this.#settle().catch((error: unknown) => this.#options.logger.warn({ component: 'processes', err: error }, 'claims were not given back'))
  }

  async #untilReady(): Promise<void> {
    const head = await this.#persistently(() => this.#options.eventStore.head(this.#options.filter))
    if (head === undefined) return
    while (!this.isReady() && !this.#closing.signal.aborted) {
      await this.#persistently(() => this.#admit(head))
      if (!this.isReady()) await pause(25, this.#closing.signal)
    }
  }

  async #admit(head: Position): Promise<void> {
    const checkpoints = await readCheckpoints(this.#options.pool, this.#desks.map(({ process }) => process.list.name))
    for (const desk of this.#desks) {
      const { name, version } = desk.process.list
      const checkpoint = checkpoints.get(name)
      if (desk.isReady || checkpoint?.version !== version || comparePositions(checkpoint.position, head) < 0) continue
      desk.isReady = true
      this.wake()
    }
  }

  async #dispatch(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      this.#wake = new AbortController()
      const waitMs = (await this.#persistently(() => this.#round())) ?? 0
      if (waitMs > 0) await pause(waitMs, AbortSignal.any([this.#wake.signal, this.#closing.signal]))
    }
  }

  /** Gives back what is done, takes what is due, and returns how long nothing else will be, in milliseconds. */
  async #round(): Promise<number> {
    const { pollMs = 1_000, workers = 10 } = this.#options
    await this.#settle()
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
    if (this.#inHand.size >= workers) return pollMs
    // A process at its limit is looked at again when one of its steps ends, which wakes us.
    const next = await Promise.all(ready.filter((desk) => desk.inHand < most).map(({ claims }) => claims.nextDue(this.#now())))
    const nextMs = next.flatMap((due) => (due === undefined ? [] : [due.getTime() - this.#now().getTime()]))
    return Math.max(1, Math.min(pollMs, ...nextMs))
  }

  /** Claims up to `most` rows and begins their steps; true when there may be more. */
  async #take(desk: Desk, most: number): Promise<boolean> {
    const { workers = 10, stepLeaseMs = 20_000 } = this.#options
    const limit = Math.min(most, workers - this.#inHand.size)
    if (limit <= 0 || this.#closing.signal.aborted) return false
    const now = this.#now()
    const lease = leaseUntil(now, stepLeaseMs)
    const claimed = await desk.claims.claim(limit, now, new Date(lease))
    for (const claim of claimed) this.#begin(desk, claim, lease)
    return claimed.length === limit
  }

  #begin(desk: Desk, claimed: Claimed, lease: string): void {
    desk.inHand += 1
    const working = this.#work(desk, claimed, lease).finally(() => {
      desk.inHand -= 1
      this.#inHand.delete(working)
      this.wake()
    })
    this.#inHand.add(working)
  }

  async #work(desk: Desk, claimed: Claimed, lease: string): Promise<void> {
    const { stepTimeoutMs = 15_000, stepLeaseMs = 20_000, logger } = this.#options
    const { process } = desk
    const { todo, failures } = claimed
    const step = process.steps.get(todo.step)
    if (step === undefined) return
    const surroundings = { now: this.#now, leaseUntil: lease }
    const limits = { timeoutMs: stepTimeoutMs, abandonMs: stepLeaseMs, signal: this.#aborting.signal }
    const result = await runStep(step, todo, surroundings, limits)
    if ('error' in result) {
      logger.warn({ process: process.name, step: todo.step, attempt: failures + 1, err: result.error }, 'a step threw, it will be tried again')
    } else if (result.kind === 'retry') {
      logger.info({ process: process.name, step: todo.step, reason: result.reason, delayMs: result.after }, 'a step is put off')
    }
    desk.settlements.push(settlementOf(claimed, result, this.#now(), this.#random))
  }

  async #settle(): Promise<void> {
    for (const desk of this.#desks) {
      const settlements = desk.settlements.splice(0)
      if (settlements.length === 0) continue
      try {
        await desk.claims.settle(settlements)
      } catch (error) {
        desk.settlements.push(...settlements)
        throw error
      }
    }
  }

  async #sweep(desks: readonly Desk[]): Promise<void> {
    const now = this.#now()
    if (now.getTime() - this.#sweptAt < sweepMs) return
    this.#sweptAt = now.getTime()
    for (const { claims } of desks) await claims.sweep(now)
  }

  /** Undefined, after a pause, when the event store or the database is away; the next round tries again. */
  async #persistently<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    for (let attempt = 1; !this.#closing.signal.aborted; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        this.#options.logger.warn({ component: 'processes', attempt, err: error }, 'workers cannot reach what they need')
        await pause(backoffMs(backoff, attempt), this.#closing.signal)
      }
    }
    return undefined
  }
}

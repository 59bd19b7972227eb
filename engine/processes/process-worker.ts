import type { Pool } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import type { BatchPart } from '../projections/checkpoint-moves.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { Tracer } from '../../platform/kit/tracing.ts'
import type { Taking } from './claim-statements.ts'
import { Claims, type Claimed, type Completion, type Parking } from './claims.ts'
import { ConcurrencyKeys } from './concurrency-keys.ts'
import { HeardRows } from './heard-rows.ts'
import type { BoundProcess, ReceiverVerdict, TodoRow } from './process.ts'
import { retryUntilDone } from './retry-until-done.ts'
import { completionOf, leaseUntil, runStep, termUntil, type StepResult, type Term } from './step-run.ts'
import { inStepSpan } from './step-span.ts'
import { noConcurrencyKey } from './todo-tables.ts'
import { rowsIn, type ListNews, type RowNews } from './wake-ups.ts'
import type { BudgetMember, WorkerBudget } from './worker-budget.ts'

/** The settings that all workers share. */
export interface WorkerSettings {
  readonly now: () => Date
  readonly random: () => number
  /** Milliseconds after which a worker looks for rows without news, unless it hears of every new row. */
  readonly pollMs: number
  readonly stepTimeoutMs: number
  /** Longer than the time limit, at most 60,000. */
  readonly stepLeaseMs: number
  readonly parking: Parking
  readonly tracer: Tracer
}

interface ProcessWorkerOptions extends WorkerSettings {
  readonly pool: Pool
  readonly logger: Logger
  /** Its id may change before the first claim. */
  readonly worker: { readonly id: string }
  /** Whether this instance hears of every new row in memory now. Then it polls seldom. */
  readonly hearsOf: () => boolean
  readonly budget: WorkerBudget
  /** Aborts when no further step is to begin. */
  readonly closing: AbortSignal
  /** Aborts steps. */
  readonly aborting: AbortSignal
}

/** Milliseconds between two claims. One claim serves all wake-ups within this time. */
const gatherMs = 10
/** Milliseconds without news after a claim until the worker reads when the next row is due. */
const quietMs = 20
/** Between two checks whether the list is filled. At a start all workers check at once, and the process is busy. */
const firstLook = { firstMs: 25, mostMs: 200 }
/** Milliseconds between two sweeps of forgotten claims, while there are claims. */
const sweepMs = 5_000
/** A part of `pollMs`: so long claims of done rows wait to be given back together. */
const giveBackPart = 1 / 4
/** Milliseconds between two claims without news in an instance that hears of every new row. */
const seldomMs = 15_000

/** The worker of one process in this instance: claims due rows, runs their steps, gives the claims back. */
export class ProcessWorker implements BudgetMember {
  readonly process: BoundProcess
  readonly #options: ProcessWorkerOptions
  readonly #claims: Claims
  readonly #keys?: ConcurrencyKeys
  /** Ends the wait after a round. A wake-up before the wait counts, too. */
  #woken = Promise.withResolvers<void>()
  readonly #steps = new Set<Promise<void>>()
  /** Steps that claims under way may begin. */
  #claiming = 0
  /** Steps that run now, of rows that fail. */
  #failing = 0
  readonly #heard = new HeardRows()
  readonly #ended: Completion[] = []
  /** There may be rows to claim while `#news` is greater than `#seen`, as before the first claim. */
  #news = 1
  #seen = 0
  /** The last claim, by the clock. */
  #claimedAt = new Date(0)
  /** On the monotonic clock. */
  #claimedMs = Number.NEGATIVE_INFINITY
  /** When claims are swept next. Without claims never. */
  #sweepMs = 0
  /** When the ended claims are given back at the latest. On the monotonic clock. */
  #giveBackMs = Infinity
  #hearsSinceMs = Infinity

  constructor(process: BoundProcess, options: ProcessWorkerOptions) {
    this.process = process
    this.#options = options
    this.#claims = new Claims(options.pool, process, options.worker, options.parking)
    if (process.concurrency !== undefined) this.#keys = new ConcurrencyKeys(process.concurrency, options.random)
    options.budget.add(this)
  }

  get inHand(): number {
    return this.#steps.size + this.#claiming
  }

  /** What a batch did to the list. */
  hear(news: ListNews | undefined): void {
    if (news === undefined) return
    if (news === 'unknown') {
      this.#heard.isComplete = false
      this.#news += 1
    } else for (const row of news) if (this.#makesDue(row)) this.#news += 1
    this.wakeUp()
  }

  #makesDue({ key, step: named, ...news }: RowNews): boolean {
    const nowMs = this.#options.now().getTime()
    if (key === undefined) return this.#heard.expect(news.dueMs, nowMs)
    const steps = named === undefined ? Object.keys(this.process.steps) : [named]
    return steps.map((step) => this.#heard.hear({ key, step }, news, nowMs)).includes(true)
  }

  /**
   * The rows of a batch that are due now, as many as there is room for. Only while no older rows wait, no other instance
   * wants a share, and without concurrency keys, whose quotas the claim statement knows.
   */
  take(part: BatchPart): Taking[] {
    const { budget, now, closing, hearsOf, stepLeaseMs } = this.#options
    const mayOlderWait = this.#news > this.#seen
    if (mayOlderWait || this.#keys !== undefined || closing.aborted || !hearsOf()) return []
    const at = now()
    const due = rowsIn(part).filter(
      (todo) => todo.dueAt <= at && Object.hasOwn(this.process.steps, todo.step) && !this.#heard.holds(todo),
    )
    const rows = due.slice(0, Math.max(0, budget.roomFor(this)))
    const lease = leaseUntil(at, stepLeaseMs)
    return rows.map((todo) => {
      const settled = Promise.withResolvers<void>()
      this.#steps.add(settled.promise)
      return {
        process: this.process.name,
        key: todo.key,
        step: todo.step,
        leaseUntil: lease,
        settle: (isClaimed) => {
          this.#steps.delete(settled.promise)
          settled.resolve()
          const claimed = { todo, concurrencyKey: noConcurrencyKey, failures: 0, isFailing: false, endedLeases: [] }
          if (isClaimed === true) return this.#beginAll([claimed], lease)
          if (isClaimed === undefined) this.#giveBackUnrun(claimed)
          budget.freed()
        },
      }
    })
  }

  wakeUp(): void {
    this.#woken.resolve()
  }

  /** Works until the workers close, but claims nothing before the list contains the log up to `head`. */
  async work(head: Position): Promise<void> {
    const { logger, closing } = this.#options
    for (let attempt = 1; !(await retryUntilDone(() => this.#claims.hasReached(head), logger, closing)); attempt += 1) {
      if (closing.aborted) return
      await pause(backoffMs(firstLook, attempt), closing)
    }
    while (!closing.aborted) {
      const waitMs = await retryUntilDone(() => this.#round(), logger, closing)
      const timer = setTimeout(this.#woken.resolve, waitMs ?? 0)
      await this.#woken.promise
      clearTimeout(timer)
      this.#woken = Promise.withResolvers<void>()
      const restMs = this.#claimedMs + gatherMs - performance.now()
      if (restMs > 0) await pause(restMs, closing)
    }
  }

  /** Resolves when the steps that run now have ended. */
  async finish(): Promise<void> {
    await Promise.all(this.#steps)
  }

  async giveBack(): Promise<void> {
    const { length } = this.#ended
    if (length === 0) return
    await this.#claims.complete(this.#ended.slice(0, length))
    this.#ended.splice(0, length)
    this.#giveBackMs = this.#ended.length === 0 ? Infinity : 0
  }

  /** Returns for how many milliseconds there is nothing to do without news. */
  async #round(): Promise<number> {
    const { budget, now } = this.#options
    if (performance.now() >= this.#giveBackMs) await this.giveBack()
    const limit = budget.roomFor(this)
    if (limit > 0) await this.#look(limit)
    const nowMs = performance.now()
    if (nowMs >= this.#sweepMs) {
      // Before the sweep: one that fails is repeated as seldom, and a step that begins meanwhile is not forgotten.
      this.#sweepMs = nowMs + sweepMs
      if (!(await this.#claims.sweep(now())) && this.#steps.size === 0) this.#sweepMs = Infinity
    }
    const restMs = Math.min(this.#pollMs(), Math.min(this.#sweepMs, this.#giveBackMs) - performance.now())
    if (limit === 0) return Math.max(1, restMs)
    const readMs = this.#heard.isComplete ? Infinity : this.#claimedMs + quietMs - performance.now()
    return Math.max(1, Math.min(restMs, readMs, this.#untilDueMs(), this.#askAgainMs - performance.now()))
  }

  /** Rows from before this instance heard of all become claimable without news. So it goes on polling for a while. */
  #pollMs(): number {
    const { hearsOf, pollMs } = this.#options
    const nowMs = performance.now()
    if (!hearsOf()) this.#hearsSinceMs = Infinity
    else if (this.#hearsSinceMs === Infinity) this.#hearsSinceMs = nowMs
    return nowMs - this.#hearsSinceMs >= 5 * pollMs ? Math.max(pollMs, seldomMs) : pollMs
  }

  /** Claims if there may be rows. Otherwise reads when the next row is due, unless this is known. */
  async #look(limit: number): Promise<void> {
    const nowMs = performance.now()
    const sinceClaimMs = nowMs - this.#claimedMs
    const isPoll = nowMs >= this.#askAgainMs || sinceClaimMs >= this.#pollMs()
    if (isPoll || this.#news > this.#seen || this.#untilDueMs() <= 0) await this.#claim(limit)
    else if (!this.#heard.isComplete && sinceClaimMs >= quietMs) {
      const next = await this.#claims.nextDue(this.#claimedAt, this.#keys?.quotas(this.#options.now()))
      this.#heard.isComplete = true
      // Also one that is due by now: nothing else leads to its claim.
      if (next !== undefined) this.#heard.expect(next.getTime(), -Infinity)
    }
  }

  /** A row that is done may still be there then. On the monotonic clock. */
  get #askAgainMs(): number {
    return this.#heard.waitingSinceMs + this.#options.pollMs
  }

  /** Milliseconds until the known instant at which there may be rows to claim. */
  #untilDueMs(): number {
    const nowMs = this.#options.now().getTime()
    const pauseEndMs = this.#keys?.nextPauseEnd(this.#claimedAt)?.getTime() ?? Infinity
    return Math.min(pauseEndMs - nowMs, this.#heard.untilDueMs(nowMs))
  }

  async #claim(limit: number): Promise<void> {
    await this.giveBack()
    const news = this.#news
    const at = this.#options.now()
    const lease = leaseUntil(at, this.#options.stepLeaseMs)
    this.#claimedMs = performance.now()
    if (this.#claimedMs >= this.#askAgainMs) this.#heard.forgetWaiting()
    this.#claiming += limit
    let claimed: readonly Claimed[] = []
    try {
      const failing = Math.max(0, this.#options.budget.quarter - this.#failing)
      claimed = await this.#claims.claim(limit, at, new Date(lease), this.#keys?.quotas(at), failing)
    } finally {
      this.#claiming -= limit
      if (claimed.length < limit) this.#options.budget.freed()
    }
    // A full claim may have left due rows.
    if (claimed.length < limit) this.#seen = news
    // After a step of the clock a claim may find rows whose steps still run here. It prolongs their leases.
    const vacant = claimed.filter(({ todo }) => !this.#heard.isRunning(todo))
    this.#beginAll(vacant, lease)
    this.#claimedAt = at
    this.#heard.claimed(at.getTime())
  }

  /** If the claim took most of its own lease, or the workers close, it begins nothing and gives the rows back. */
  #beginAll(claimed: readonly Claimed[], lease: string): void {
    const { closing, now } = this.#options
    const term = closing.aborted ? undefined : termUntil(lease, now(), this.#options)
    for (const claim of claimed) {
      if (term !== undefined) this.#begin(claim, term)
      else this.#giveBackUnrun(claim)
    }
  }

  #giveBackUnrun({ todo: { key, step }, failures }: Claimed): void {
    this.#ended.push({ key, step, notBefore: this.#options.now(), fence: undefined, failures, isDone: false })
    this.#giveBackMs = 0
    this.#news += 1
    this.wakeUp()
  }

  #begin(claimed: Claimed, term: Term): void {
    const working = this.#work(claimed, term).finally(() => {
      this.#steps.delete(working)
      if (claimed.isFailing) this.#failing -= 1
      // There may have been more rows than room, of its concurrency key or of those that fail.
      if (this.#keys !== undefined || claimed.isFailing) this.#news += 1
      this.#options.budget.freed()
    })
    this.#sweepMs = Math.min(this.#sweepMs, performance.now() + sweepMs)
    if (claimed.isFailing) this.#failing += 1
    this.#heard.begin(claimed.todo)
    this.#steps.add(working)
  }

  async #work(claimed: Claimed, first: Term): Promise<void> {
    const { logger, now, random } = this.#options
    const { todo, concurrencyKey } = claimed
    this.#keys?.begin(concurrencyKey, now())
    const { result, failures, leaseUntil: until } = await this.#run(claimed, first)
    const work = { process: this.process.name, step: todo.step }
    if ('error' in result) {
      logger.warn({ ...work, attempt: failures + 1, err: result.error }, 'a step threw, it will be tried again')
    } else if (result.kind === 'retry') {
      logger.info({ ...work, reason: result.reason, delayMs: result.after }, 'a step is put off')
    }
    const endedAt = now()
    const completion = completionOf({ todo, failures }, result, endedAt, random)
    this.#ended.push(completion)
    const { isDone, fence, notBefore } = completion
    // A row that is done changes with the list. If it does not, it is tried again.
    if (this.#heard.end(todo, isDone ? undefined : notBefore.getTime(), fence, endedAt.getTime())) this.#news += 1
    // A claim whose lease ends meanwhile would need its fence.
    const giveBackMs = this.#options.pollMs * giveBackPart
    const mayWait = isDone && this.#options.hearsOf() && Date.parse(until) - endedAt.getTime() > 2 * giveBackMs
    this.#giveBackMs = Math.min(this.#giveBackMs, mayWait ? performance.now() + giveBackMs : 0)
    this.#keys?.end(concurrencyKey, verdictOf(result), now())
  }

  /** Runs a step again while it continues. `failures` counts the errors in a row before its last run. */
  async #run(
    { failures, ...claimed }: Omit<Claimed, 'isFailing'>,
    term: Term,
  ): Promise<{ readonly result: StepResult; readonly failures: number; readonly leaseUntil: string }> {
    const { aborting, closing, now, tracer } = this.#options
    const { todo, endedLeases } = claimed
    const { name, run } = this.process
    const surroundings = { now, endedLeases, mayCallAgain: !closing.aborted, signal: aborting }
    const result = await inStepSpan(tracer, name, todo, () => runStep(run, todo, surroundings, term))
    const continues = !('error' in result) && result.kind === 'done' && result.continues === true
    const next = continues ? await this.#prolonged(todo, term.leaseUntil) : undefined
    return next === undefined
      ? { result, failures, leaseUntil: term.leaseUntil }
      : this.#run({ ...claimed, failures: 0 }, next)
  }

  /** A term with the whole time limit. Undefined if the workers close or the claim is lost. */
  async #prolonged(todo: TodoRow, until: string): Promise<Term | undefined> {
    const { closing, stepTimeoutMs, stepLeaseMs, now } = this.#options
    if (closing.aborted) return undefined
    const term = termUntil(until, now(), this.#options)
    if (term?.timeoutMs === stepTimeoutMs) return term
    const longer = leaseUntil(now(), stepLeaseMs)
    // After a failure of the database the step ends here. The row is given back when the database answers again.
    const isOurs = await this.#claims.prolong(todo, until, longer).catch(() => false)
    return isOurs && !closing.aborted ? termUntil(longer, now(), this.#options) : undefined
  }
}

/** If a step throws, other rows of the same key are likely to throw as well. */
function verdictOf(result: StepResult): ReceiverVerdict {
  if ('error' in result) return { health: 'bad' }
  return result.kind === 'wait' ? {} : result
}

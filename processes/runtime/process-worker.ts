import type { Pool } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import type { BoundProcess } from './bound-process.ts'
import { Claims, type Claimed } from './claims.ts'
import { isAnyLaneFull, Lanes, type LaneVerdict } from './lanes.ts'
import { leaseUntil } from './step-timing.ts'
import { PollSchedule } from './poll-schedule.ts'
import type { TodoRow } from './process.ts'
import { Completions } from './completions.ts'
import { limitsWithin, runStep, completionOf, type BoundStep, type StepLimits, type StepResult } from './step-run.ts'

export interface ProcessWorkerOptions {
  readonly pool: Pool
  readonly workerId: string
  readonly logger: Logger
  readonly now: () => Date
  readonly random: () => number
  readonly stepTimeoutMs: number
  readonly stepLeaseMs: number
  /** Aborts when no further step is to begin. */
  readonly closing: AbortSignal
  /** Aborts steps. */
  readonly aborting: AbortSignal
  /** Called after each step. */
  readonly onStepEnd: () => void
}

/** The lease of a claim, RFC 3339, and the limits that it leaves to a step. */
interface Term {
  readonly until: string
  readonly limits: Omit<StepLimits, 'signal'>
}

/** The work of one process in this instance: what it has claimed, and what is to be given back. */
export class ProcessWorker {
  readonly process: BoundProcess
  /** Whether its list has reached where the log ended when the workers began. */
  isReady = false
  readonly #options: ProcessWorkerOptions
  readonly #claims: Claims
  readonly #lanes: Lanes | undefined
  readonly #schedule = new PollSchedule()
  readonly #inHand = new Set<Promise<void>>()
  readonly #completions = new Completions()
  /** Of its list, as far as it was written here. */
  #writtenTo: Position | undefined

  constructor(process: BoundProcess, options: ProcessWorkerOptions) {
    this.process = process
    this.#options = options
    this.#claims = new Claims(
      options.pool,
      { name: process.name, list: process.list, steps: [...process.steps.keys()] },
      options.workerId,
    )
    this.#lanes = process.lanes === undefined ? undefined : new Lanes(process.lanes, options.random)
  }

  get inHand(): number {
    return this.#inHand.size
  }

  /** Whether there may be rows to be claimed. */
  get isStirred(): boolean {
    return this.#schedule.isStirred
  }

  /** Until when it is left alone although it is stirred, so that one look serves many wakes; on the monotonic clock. */
  get restsUntilMs(): number {
    return this.#schedule.restsUntilMs
  }

  /** There may be new rows. */
  stir(): void {
    this.#schedule.stir()
  }

  /** Its list is stored up to there, by a projector of this instance. */
  listWritten(to: Position, isChanged: boolean): void {
    this.#writtenTo = to
    this.#completions.reached(to)
    if (isChanged) this.stir()
  }

  /** Its list has changed, by word of some instance; where a projector of this one wrote it, that is known. */
  listChanged(to: Position | undefined): void {
    if (to !== undefined && this.#writtenTo !== undefined && comparePositions(to, this.#writtenTo) <= 0) return
    if (to !== undefined) this.#completions.reached(to)
    this.stir()
  }

  /** Stirs it when the time of a row, or the end of a lane's pause, has come since the last look. */
  stirWhenDue(): void {
    const next = this.#nextAt()
    if (next !== undefined && next <= this.#options.now()) this.stir()
  }

  /** Gives back what is done, claims up to `limit` rows and begins their steps; true when there may be more. */
  async take(limit: number): Promise<boolean> {
    const now = this.#options.now()
    const lease = leaseUntil(now, this.#options.stepLeaseMs)
    const shares = this.#lanes?.shares(now)
    this.#schedule.begin(performance.now())
    const completions = this.#completions.take(performance.now())
    let claimed: Claimed[]
    try {
      claimed = await this.#claims.completeAndClaim(completions, limit, now, new Date(lease), shares)
    } catch (error) {
      this.#completions.putBack(completions)
      this.stir()
      throw error
    }
    this.#beginAll(claimed, lease)
    const hasMore = claimed.length === limit
    const mayHaveMore =
      hasMore ||
      (shares !== undefined &&
        isAnyLaneFull(
          shares,
          claimed.flatMap(({ lane }) => lane ?? []),
        ))
    this.#schedule.end(now, mayHaveMore, this.inHand)
    return hasMore
  }

  /** Asks the list when its next row is due, unless that is known, or there were news lately. */
  async lookAhead(): Promise<void> {
    const after = this.#schedule.asksAfter(performance.now())
    if (after === undefined) return
    const shares = this.#lanes?.shares(this.#options.now())
    this.#schedule.listed(
      after,
      shares === undefined ? await this.#claims.nextDue(after) : await this.#claims.nextDueByLane(after, shares),
    )
  }

  /** Milliseconds until it is to be looked at again, as far as that is a matter of time. */
  nextLookMs(): number | undefined {
    if (this.isStirred) return undefined
    const { asksAtMs } = this.#schedule
    const next = this.#nextAt()
    const waits = asksAtMs === undefined ? [] : [asksAtMs - performance.now()]
    if (next !== undefined) waits.push(next.getTime() - this.#options.now().getTime())
    return waits.length === 0 ? undefined : Math.min(...waits)
  }

  /** Milliseconds until something is to be given back at the latest. */
  nextSettlementMs(): number | undefined {
    const nextMs = this.#completions.nextMs()
    return nextMs === undefined ? undefined : nextMs - performance.now()
  }

  /** Gives back what is done, but for what waits for its list to see it; `all` has that go, too. */
  async settle(which: 'ripe' | 'all'): Promise<void> {
    const completions = which === 'all' ? this.#completions.takeAll() : this.#completions.take(performance.now())
    if (completions.length === 0) return
    try {
      await this.#claims.settle(completions)
    } catch (error) {
      this.#completions.putBack(completions)
      throw error
    }
  }

  /** Forgets claims whose rows the list has taken away. */
  async sweep(now: Date): Promise<void> {
    await this.#claims.sweep(now)
  }

  /** Resolves when none of the steps that are in hand now is any more. */
  async finish(): Promise<void> {
    await Promise.all(this.#inHand)
  }

  /** Of claims that took most of their own lease nothing is begun: they are given back. */
  #beginAll(claimed: readonly Claimed[], lease: string): void {
    const term = this.#termOf(lease)
    for (const claim of claimed) {
      if (term !== undefined) this.#begin(claim, term)
      else
        this.#completions.add(
          {
            key: claim.todo.key,
            step: claim.todo.step,
            notBefore: this.#options.now(),
            fence: undefined,
            failures: claim.failures,
          },
          0,
          performance.now(),
        )
    }
    if (term === undefined && claimed.length > 0) this.stir()
  }

  /** Undefined where a lease has too little left. */
  #termOf(until: string): Term | undefined {
    const limits = limitsWithin(Date.parse(until) - this.#options.now().getTime(), this.#options)
    return limits === undefined ? undefined : { until, limits }
  }

  #begin(claimed: Claimed, term: Term): void {
    const begunMs = performance.now()
    const working = this.#work(claimed, term).finally(() => {
      this.#inHand.delete(working)
      this.#schedule.stepEnded(performance.now() - begunMs)
      this.#options.onStepEnd()
    })
    this.#inHand.add(working)
  }

  async #work(claimed: Claimed, first: Term): Promise<void> {
    const { logger, now, random } = this.#options
    const { todo, lane } = claimed
    const step = this.process.steps.get(todo.step)
    if (step === undefined) return
    if (lane !== undefined) this.#lanes?.begin(lane, now())
    const { result, failures, leftMs } = await this.#run(step, claimed, first)
    if ('error' in result) {
      logger.warn(
        { process: this.process.name, step: todo.step, attempt: failures + 1, err: result.error },
        'a step threw, it will be tried again',
      )
    } else if (result.kind === 'retry') {
      logger.info(
        { process: this.process.name, step: todo.step, reason: result.reason, delayMs: result.after },
        'a step is put off',
      )
    }
    const completion = completionOf({ todo, failures }, result, now(), random)
    this.#completions.add(completion, leftMs, performance.now())
    if (lane !== undefined) this.#lanes?.end(lane, verdictOf(result), now())
    if (completion.notBefore > now()) this.#schedule.putOff(completion.notBefore)
  }

  /**
   * The step, again and again while it goes on; `leftMs` of the lease are left after that, and `failures` are the times in a row
   * that it had thrown before its last run.
   */
  async #run(
    step: BoundStep,
    { todo, failures: before }: Claimed,
    first: Term,
  ): Promise<{ readonly result: StepResult; readonly failures: number; readonly leftMs: number }> {
    const { aborting, now } = this.#options
    let failures = before
    let term = first
    for (;;) {
      const begunMs = performance.now()
      const result = await runStep(step, todo, { now, leaseUntil: term.until }, { ...term.limits, signal: aborting })
      const next = continues(result) ? await this.#prolonged(todo, term.until) : undefined
      if (next === undefined) return { result, failures, leftMs: term.limits.abandonMs - (performance.now() - begunMs) }
      failures = 0
      term = next
    }
  }

  /** A term with the whole time limit, for which the lease is made longer where it has to be; undefined where none is to be had. */
  async #prolonged({ key, step }: TodoRow, until: string): Promise<Term | undefined> {
    const { closing, stepTimeoutMs, stepLeaseMs, now } = this.#options
    if (closing.aborted) return undefined
    const term = this.#termOf(until)
    if (term?.limits.timeoutMs === stepTimeoutMs) return term
    const longer = leaseUntil(now(), stepLeaseMs)
    // What the database does not answer to here it is asked again when the row is given back.
    const isOurs = await this.#claims.prolong({ key, step }, new Date(until), new Date(longer)).catch(() => false)
    return isOurs && !closing.aborted ? this.#termOf(longer) : undefined
  }

  #nextAt(): Date | undefined {
    return this.#schedule.nextAt((since) => this.#lanes?.nextPauseEnd(since))
  }
}

function continues(result: StepResult): boolean {
  return !('error' in result) && result.kind === 'done' && result.continues === true
}

/** A step that throws has said nothing of its receiver, but what made it throw is likely to meet the rest of its lane. */
function verdictOf(result: StepResult): LaneVerdict {
  if ('error' in result) return { health: 'bad' }
  if (result.kind === 'wait') return {}
  return { health: result.kind === 'done' ? result.health : undefined, pauseMs: result.pauseMs }
}

import type { Pool } from 'pg'
import type { Logger } from '../../platform/logging.ts'
import type { BoundProcess } from './bound-process.ts'
import { Claims, type Claimed, type Settlement } from './claims.ts'
import { Lanes, type LaneVerdict } from './lanes.ts'
import { leaseUntil } from './leases.ts'
import { runStep, settlementOf, type StepResult } from './step-run.ts'

export interface DeskOptions {
  readonly pool: Pool
  readonly workerId: string
  readonly logger: Logger
  readonly now: () => Date
  readonly random: () => number
  readonly stepTimeoutMs: number
  readonly stepLeaseMs: number
  /** Aborts steps. */
  readonly aborting: AbortSignal
  /** Called after each step. */
  readonly onStepEnd: () => void
}

/** Rows that are put off become claimable within so many milliseconds. */
const putOffGrain = 50
/** Milliseconds until a look that may be the last one for long: as long as rows come, none asks when the next is due. */
const busyMs = 20

/** The work of one process in this instance: what it has claimed, and what is to be given back. */
export class Desk {
  readonly process: BoundProcess
  /** Whether its list has reached where the log ended when the workers began. */
  isReady = false
  readonly #options: DeskOptions
  readonly #claims: Claims
  readonly #lanes: Lanes | undefined
  readonly #inHand = new Set<Promise<void>>()
  readonly #settlements: Settlement[] = []
  /** When rows that steps have put off are claimable again; kept where the list is not asked for it. */
  readonly #putOff = new Set<number>()
  #isBusy = false

  constructor(process: BoundProcess, options: DeskOptions) {
    this.process = process
    this.#options = options
    this.#claims = new Claims(options.pool, { name: process.name, list: process.list, steps: [...process.steps.keys()] }, options.workerId)
    this.#lanes = process.lanes === undefined ? undefined : new Lanes(process.lanes, options.random)
  }

  get inHand(): number {
    return this.#inHand.size
  }

  /** Claims up to `limit` rows and begins their steps; true when there may be more. */
  async take(limit: number): Promise<boolean> {
    const { stepLeaseMs } = this.#options
    const now = this.#options.now()
    const lease = leaseUntil(now, stepLeaseMs)
    const claimed = await this.#claims.claim(limit, now, new Date(lease), this.#lanes?.shares(now))
    for (const claim of claimed) this.#begin(claim, lease)
    this.#isBusy = claimed.length > 0
    return claimed.length === limit
  }

  /** When the next row becomes claimable, as far as that is a matter of time. */
  async nextDue(): Promise<Date | undefined> {
    const now = this.#options.now()
    if (this.#lanes === undefined) return this.#claims.nextDue(now)
    if (this.#isBusy) return new Date(now.getTime() + busyMs)
    const instants = [await this.#claims.nextDueByLane(now, this.#lanes.shares(now)), this.#lanes.nextPauseEnd(now), this.#nextPutOff(now)]
    const known = instants.flatMap((instant) => (instant === undefined ? [] : [instant.getTime()]))
    return known.length === 0 ? undefined : new Date(Math.min(...known))
  }

  /** Gives back what is done. */
  async settle(): Promise<void> {
    const settlements = this.#settlements.splice(0)
    if (settlements.length === 0) return
    try {
      await this.#claims.settle(settlements)
    } catch (error) {
      this.#settlements.push(...settlements)
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

  #begin(claimed: Claimed, lease: string): void {
    const working = this.#work(claimed, lease).finally(() => {
      this.#inHand.delete(working)
      this.#options.onStepEnd()
    })
    this.#inHand.add(working)
  }

  async #work(claimed: Claimed, lease: string): Promise<void> {
    const { stepTimeoutMs, stepLeaseMs, logger, aborting, now, random } = this.#options
    const { todo, failures, lane } = claimed
    const step = this.process.steps.get(todo.step)
    if (step === undefined) return
    if (lane !== undefined) this.#lanes?.begin(lane, now())
    const limits = { timeoutMs: stepTimeoutMs, abandonMs: stepLeaseMs, signal: aborting }
    const result = await runStep(step, todo, { now, leaseUntil: lease }, limits)
    if ('error' in result) {
      logger.warn({ process: this.process.name, step: todo.step, attempt: failures + 1, err: result.error }, 'a step threw, it will be tried again')
    } else if (result.kind === 'retry') {
      logger.info({ process: this.process.name, step: todo.step, reason: result.reason, delayMs: result.after }, 'a step is put off')
    }
    const settlement = settlementOf(claimed, result, now(), random)
    this.#settlements.push(settlement)
    if (lane === undefined || this.#lanes === undefined) return
    this.#lanes.end(lane, verdictOf(result), now())
    if (settlement.notBefore > now()) this.#putOff.add(Math.ceil(settlement.notBefore.getTime() / putOffGrain) * putOffGrain)
  }

  #nextPutOff(now: Date): Date | undefined {
    for (const instant of this.#putOff) if (instant <= now.getTime()) this.#putOff.delete(instant)
    return this.#putOff.size === 0 ? undefined : new Date(Math.min(...this.#putOff))
  }
}

/** A step that throws has said nothing of its receiver, but what made it throw is likely to meet the rest of its lane. */
function verdictOf(result: StepResult): LaneVerdict {
  if ('error' in result) return { health: 'bad' }
  if (result.kind === 'wait') return {}
  return { health: result.kind === 'done' ? result.health : undefined, pauseMs: result.pauseMs }
}

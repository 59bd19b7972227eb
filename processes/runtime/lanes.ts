import { jittered } from './step-timing.ts'
import type { LaneBudget, LaneHealth } from './process.ts'
import { freeLane } from './todo-tables.ts'

/** What a step said of its lane. */
export interface LaneVerdict {
  readonly health?: LaneHealth | undefined
  readonly pauseMs?: number | undefined
}

/** How many rows of which lane may be claimed now. */
export interface LaneShares {
  /** Of each lane that `known` does not name. */
  readonly others: number
  /** Of all unhealthy lanes together. */
  readonly unhealthy: number
  /** Whose last step began longest ago comes first: in this order unhealthy lanes get their share. */
  readonly known: readonly LaneShare[]
}

export interface LaneShare {
  readonly lane: string
  readonly room: number
  /** Under way now: of what is due, lanes with little under way come first. */
  readonly inHand: number
  readonly isUnhealthy: boolean
}

interface Lane {
  inHand: number
  limit: number
  isUnhealthy: boolean
  /** Times in a row that the receiver could not be reached. */
  unreachable: number
  /** Milliseconds since the epoch. */
  pausedUntil: number
}

const newLimit = 2
const toleratedFailures = 2
const firstPauseMs = 5_000
const doubledUpToMs = 60_000
const pauseSpread = 0.2
/** No receiver is left alone for longer, whatever it asks for: its rows have due times of their own. */
const longestPauseMs = 300_000
const mostKnown = 2_000

/**
 * Who gets the workers of a process with lanes. A new lane may have two steps at a time, one more after each that goes
 * well, up to the limit of a lane; after one that does not, it is unhealthy and may have one until one is healthy again. The
 * unhealthy ones together never get more than a quarter of the workers, in turn. In memory: what is forgotten is learnt again.
 */
export class Lanes {
  readonly #budget: Pick<LaneBudget, 'slots' | 'perLane'>
  readonly #random: () => number
  /** In the order in which their last steps began. */
  readonly #lanes = new Map<string, Lane>()

  constructor(budget: Pick<LaneBudget, 'slots' | 'perLane'>, random: () => number) {
    this.#budget = budget
    this.#random = random
  }

  begin(name: string, now: Date): void {
    if (name === freeLane) return
    const lane = this.#lanes.get(name)
    if (lane === undefined) {
      this.#forgetSome(now)
      this.#lanes.set(name, { inHand: 1, limit: this.#newLimit, isUnhealthy: false, unreachable: 0, pausedUntil: 0 })
    } else {
      lane.inHand += 1
      this.#lanes.delete(name)
      this.#lanes.set(name, lane)
    }
  }

  end(name: string, { health, pauseMs }: LaneVerdict, now: Date): void {
    const lane = this.#lanes.get(name)
    if (lane === undefined) return
    lane.inHand -= 1
    if (health === 'good') {
      Object.assign(lane, { isUnhealthy: false, unreachable: 0, limit: Math.min(this.#budget.perLane, lane.limit + 1) })
    } else if (health !== undefined || pauseMs !== undefined) {
      Object.assign(lane, { isUnhealthy: true, limit: 1 })
    }
    if (health === 'bad') lane.unreachable = 0
    const restMs = health === 'unreachable' ? this.#restAfterFailure(lane, now) : 0
    pause(lane, Math.min(longestPauseMs, Math.max(restMs, pauseMs ?? 0)), now)
  }

  shares(now: Date): LaneShares {
    const { slots } = this.#budget
    let unhealthyInHand = 0
    for (const { isUnhealthy, inHand } of this.#lanes.values()) if (isUnhealthy) unhealthyInHand += inHand
    const unhealthy = Math.max(0, Math.max(1, Math.floor(slots / 4)) - unhealthyInHand)
    const known: LaneShare[] = [{ lane: freeLane, room: slots, inHand: 0, isUnhealthy: false }]
    for (const [name, lane] of this.#lanes) {
      const isClosed = isPaused(lane, now) || (lane.isUnhealthy && unhealthy === 0)
      const room = isClosed ? 0 : Math.max(0, lane.limit - lane.inHand)
      const { isUnhealthy, inHand } = lane
      if (isUnhealthy || inHand > 0 || room !== this.#newLimit) known.push({ lane: name, room, inHand, isUnhealthy })
    }
    return { others: this.#newLimit, unhealthy, known }
  }

  /** When the first of the pauses ends; undefined when no lane pauses. */
  nextPauseEnd(now: Date): Date | undefined {
    const ends = [...this.#lanes.values()].filter((lane) => isPaused(lane, now)).map(({ pausedUntil }) => pausedUntil)
    return ends.length === 0 ? undefined : new Date(Math.min(...ends))
  }

  get #newLimit(): number {
    return Math.min(newLimit, this.#budget.perLane)
  }

  /** Steps that were under way when the lane was paused are one failure with the one that paused it. */
  #restAfterFailure(lane: Lane, now: Date): number {
    if (isPaused(lane, now)) return 0
    lane.unreachable += 1
    const doublings = lane.unreachable - toleratedFailures - 1
    return doublings < 0
      ? 0
      : jittered(Math.min(doubledUpToMs, firstPauseMs * 2 ** doublings), pauseSpread, this.#random)
  }

  #forgetSome(now: Date): void {
    for (const [name, lane] of this.#lanes) {
      if (this.#lanes.size < mostKnown) return
      if (lane.inHand === 0 && !isPaused(lane, now)) this.#lanes.delete(name)
    }
  }
}

/** Whether more rows of some lane may be due than a claim with these shares took, which were of `taken` lanes. */
export function isAnyLaneFull({ known, others, unhealthy }: LaneShares, taken: readonly string[]): boolean {
  const counts = new Map<string, number>()
  for (const lane of taken) counts.set(lane, (counts.get(lane) ?? 0) + 1)
  const shares = new Map(known.map((share) => [share.lane, share]))
  const unhealthyTaken = taken.filter((lane) => shares.get(lane)?.isUnhealthy === true).length
  if (unhealthyTaken >= unhealthy || known.some(({ room }) => room === 0)) return true
  return [...counts].some(([lane, count]) => count >= (shares.get(lane)?.room ?? others))
}

function pause(lane: Lane, forMs: number, now: Date): void {
  const until = now.getTime() + forMs
  if (!isPaused(lane, now) || until > lane.pausedUntil) lane.pausedUntil = until
}

/** A pause that is longer than any may be was begun by a clock that has been set back since. */
function isPaused({ pausedUntil }: Lane, now: Date): boolean {
  const leftMs = pausedUntil - now.getTime()
  return leftMs > 0 && leftMs <= longestPauseMs
}

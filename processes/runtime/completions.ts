import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import type { Completion } from './claims.ts'

/** Milliseconds for which a claim waits to be forgotten rather than kept with a fence. */
const mostHeldMs = 250
/** A claim is given back so many milliseconds before its lease ends. */
const leaseMarginMs = 1_000

interface Held {
  readonly completion: Completion
  /** On the monotonic clock. */
  readonly untilMs: number
}

/**
 * How steps have ended that are not given back yet. What has appended keeps its claim, which its lease covers, for the
 * moment that its list takes to see it: then the claim is forgotten at once, and no fence has to be written.
 */
export class Completions {
  #ready: Completion[] = []
  #held: Held[] = []
  #reached: Position | undefined

  /** `leaseMs`: what is left of the claim's lease. */
  add(completion: Completion, leaseMs: number, nowMs: number): void {
    const heldMs = completion.fence === undefined ? 0 : Math.min(mostHeldMs, leaseMs - leaseMarginMs)
    if (heldMs <= 0) this.#ready.push(completion)
    else this.#held.push({ completion, untilMs: nowMs + heldMs })
  }

  /** The list is stored up to there. */
  reached(position: Position): void {
    this.#reached = position
  }

  /** Takes out what can be given back now. */
  take(nowMs: number): Completion[] {
    const ripe = this.#ready
    this.#ready = []
    const held: Held[] = []
    for (const one of this.#held) {
      if (one.untilMs <= nowMs || this.#isSeen(one.completion)) ripe.push(one.completion)
      else held.push(one)
    }
    this.#held = held
    return ripe
  }

  /** Takes out all. */
  takeAll(): Completion[] {
    return this.take(Number.POSITIVE_INFINITY)
  }

  putBack(completions: readonly Completion[]): void {
    this.#ready.push(...completions)
  }

  /** When something can be given back at the latest, on the monotonic clock; undefined when there is nothing. */
  nextMs(): number | undefined {
    if (this.#ready.length > 0) return 0
    return this.#held.length === 0 ? undefined : Math.min(...this.#held.map(({ untilMs }) => untilMs))
  }

  #isSeen({ fence }: Completion): boolean {
    return fence === undefined || (this.#reached !== undefined && comparePositions(fence, this.#reached) <= 0)
  }
}

import { jittered } from '../../platform/kit/backoff.ts'
import type { ConcurrencyLimits, ReceiverVerdict } from './process.ts'
import { noConcurrencyKey } from './todo-tables.ts'

/** How many rows may be claimed now, by concurrency key. */
export interface KeyQuotas {
  /** For each key that `known` does not contain. */
  readonly others: number
  /** For all unhealthy keys together. */
  readonly unhealthy: number
  /** Ordered by the begin of the last step, oldest first. Unhealthy keys take turns in this order. */
  readonly known: readonly KeyQuota[]
}

interface KeyQuota {
  readonly key: string
  readonly room: number
  /** Steps that run now. Rows of keys with few of them are claimed first. */
  readonly inHand: number
  readonly isUnhealthy: boolean
}

interface Key {
  inHand: number
  limit: number
  isUnhealthy: boolean
  /** Failures to reach the receiver, in a row. */
  unreachable: number
  /** Milliseconds since the epoch. */
  pausedUntil: number
}

const newLimit = 2
const toleratedFailures = 2
const firstPauseMs = 5_000
const doubledUpToMs = 60_000
const pauseSpread = 0.2
/** The limit for a pause that a receiver asks for. */
const longestPauseMs = 300_000
/** Keys that are remembered. Beyond the first number idle ones are forgotten, beyond the second those that pause, too. */
const [mostKnown, mostPaused] = [2_000, 5_000]

/** Divides the workers of a process among its receivers, by the rules of the README. After a restart it learns again. */
export class ConcurrencyKeys {
  readonly #limits: Pick<ConcurrencyLimits, 'workers' | 'perKey'>
  readonly #random: () => number
  /** Ordered by the begin of their last steps. */
  readonly #keys = new Map<string, Key>()

  constructor(limits: Pick<ConcurrencyLimits, 'workers' | 'perKey'>, random: () => number) {
    this.#limits = limits
    this.#random = random
  }

  begin(name: string, now: Date): void {
    if (name === noConcurrencyKey) return
    const known = this.#keys.get(name)
    if (known === undefined) this.#forgetSome(now)
    const key = known ?? { inHand: 0, limit: this.#newLimit, isUnhealthy: false, unreachable: 0, pausedUntil: 0 }
    key.inHand += 1
    this.#keys.delete(name)
    this.#keys.set(name, key)
  }

  end(name: string, { health, pauseMs = 0 }: ReceiverVerdict, now: Date): void {
    const key = this.#keys.get(name)
    if (key === undefined) return
    key.inHand -= 1
    if (health === 'good') {
      Object.assign(key, { isUnhealthy: false, unreachable: 0, limit: Math.min(this.#limits.perKey, key.limit + 1) })
    } else if (health !== undefined || pauseMs > 0) {
      Object.assign(key, { isUnhealthy: true, limit: 1 })
    }
    if (health === 'bad') key.unreachable = 0
    const restMs = health === 'unreachable' ? this.#restAfterFailure(key, now) : 0
    const until = now.getTime() + Math.min(longestPauseMs, Math.max(restMs, pauseMs))
    if (!isPaused(key, now) || until > key.pausedUntil) key.pausedUntil = until
  }

  quotas(now: Date): KeyQuotas {
    const { workers } = this.#limits
    let unhealthy = Math.max(1, Math.floor(workers / 4))
    for (const { isUnhealthy, inHand } of this.#keys.values()) if (isUnhealthy) unhealthy -= inHand
    unhealthy = Math.max(0, unhealthy)
    const known: KeyQuota[] = [{ key: noConcurrencyKey, room: workers, inHand: 0, isUnhealthy: false }]
    for (const [name, key] of this.#keys) {
      const { isUnhealthy, inHand } = key
      const isClosed = isPaused(key, now) || (isUnhealthy && unhealthy === 0)
      known.push({ key: name, room: isClosed ? 0 : Math.max(0, key.limit - inHand), inHand, isUnhealthy })
    }
    return { others: this.#newLimit, unhealthy, known }
  }

  /** The end of the first pause; undefined without one. */
  nextPauseEnd(now: Date): Date | undefined {
    const paused = [...this.#keys.values()].filter((key) => isPaused(key, now))
    return paused.length === 0 ? undefined : new Date(Math.min(...paused.map(({ pausedUntil }) => pausedUntil)))
  }

  get #newLimit(): number {
    return Math.min(newLimit, this.#limits.perKey)
  }

  /** Steps that ran when the pause began count as one failure with the step that caused the pause. */
  #restAfterFailure(key: Key, now: Date): number {
    if (isPaused(key, now)) return 0
    key.unreachable += 1
    const doublings = key.unreachable - toleratedFailures - 1
    return doublings < 0
      ? 0
      : jittered(Math.min(doubledUpToMs, firstPauseMs * 2 ** doublings), pauseSpread, this.#random)
  }

  #forgetSome(now: Date): void {
    for (const [name, key] of this.#keys) {
      if (this.#keys.size < mostKnown) return
      const isNeeded = isPaused(key, now) && this.#keys.size < mostPaused
      if (key.inHand === 0 && !isNeeded) this.#keys.delete(name)
    }
  }
}

/** A longer pause than the longest possible one began before the clock was set back. */
function isPaused({ pausedUntil }: Key, now: Date): boolean {
  const leftMs = pausedUntil - now.getTime()
  return leftMs > 0 && leftMs <= longestPauseMs
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../../platform/database/database.ts'
import type { Checked, Finding } from '../facts.ts'

/** A failure of the event store, from its begin to its return, in milliseconds since 1970. */
export interface Failure {
  readonly name: string
  readonly from: number
  readonly to: number
}

/** When each follower moved, in milliseconds since 1970, oldest first. */
export type Moves = ReadonlyMap<string, readonly number[]>

const pollMs = 200
/** After the return of the store, each follower must go on within this time (docs/reliability.md). */
export const goOnWithinMs = 10_000

/** Sees the stored positions of all read models and to-do lists move. */
export class FollowerWatch {
  readonly moves = new Map<string, number[]>()
  readonly #pool: Pool
  readonly #closing = new AbortController()
  readonly #positions = new Map<string, string>()
  readonly #running: Promise<void>

  constructor(pool: Pool) {
    this.#pool = pool
    this.#running = this.#watch()
  }

  /** Resolves once each follower has moved after this time, or after the limit. */
  async movedSince(time: number, limitMs: number, signal: AbortSignal): Promise<void> {
    const hasMoved = () => [...this.moves.values()].every((times) => (times.at(-1) ?? 0) >= time)
    for (const end = Date.now() + limitMs; !hasMoved() && Date.now() < end;) await sleep(pollMs, undefined, { signal })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
    await this.#pool.end()
  }

  async #watch(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      // Postgres may be struck just now.
      await this.#look().catch(() => undefined)
      await sleep(pollMs, undefined, { signal: this.#closing.signal }).catch(() => undefined)
    }
  }

  async #look(): Promise<void> {
    const { rows } = await this.#pool.query<{ name: string; position: string }>(
      `select name, commit_position::text as position from runtime.projectors`,
    )
    for (const { name, position } of rows) {
      const before = this.#positions.get(name)
      this.#positions.set(name, position)
      const times = this.moves.get(name) ?? []
      this.moves.set(name, times)
      if (before !== undefined && before !== position) times.push(Date.now())
    }
  }
}

/** The longest time between two moves that touches the failure and ends after its begin, in milliseconds. */
export function longestStandstill(times: readonly number[], { from, to }: Failure): number {
  let longest = 0
  for (const [index, time] of times.entries()) {
    const before = times[index - 1] ?? time
    if (time > from && before < to) longest = Math.max(longest, time - before)
  }
  return longest
}

export interface Standstill {
  readonly failure: Failure
  /** The longest time without an acknowledged write. */
  readonly writesMs: number
  /** The longest time without a move of each follower, the longest first. */
  readonly followers: readonly (readonly [follower: string, ms: number])[]
  /** When the last follower went on, from the return of the store on. */
  readonly goneOnMs: number
}

export function standstills(failures: readonly Failure[], writes: readonly number[], moves: Moves): Standstill[] {
  const acknowledged = writes.toSorted((a, b) => a - b)
  return failures.map((failure) => {
    const followers = [...moves].map(([name, times]) => [name, longestStandstill(times, failure)] as const)
    return {
      failure,
      writesMs: longestStandstill(acknowledged, failure),
      followers: followers.toSorted(([, a], [, b]) => b - a),
      goneOnMs: Math.max(0, ...[...moves.values()].map((times) => goneOn(times, failure))),
    }
  })
}

function goneOn(times: readonly number[], { to }: Failure): number {
  return (times.find((time) => time >= to) ?? Infinity) - to
}

/** Each follower goes on soon after each return of the store. */
export function checkFollowers(found: readonly Standstill[], moves: Moves): Checked {
  const findings = found.flatMap(({ failure }): Finding[] =>
    [...moves].flatMap(([name, times]) => {
      const ms = goneOn(times, failure)
      return ms <= goOnWithinMs ? [] : [{ what: `${name} went on after ${ms} ms`, where: failure.name }]
    }),
  )
  return { check: `followers go on within ${goOnWithinMs / 1_000} s`, examined: found.length * moves.size, findings }
}

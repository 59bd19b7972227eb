import type { Pool } from 'pg'
import { pause } from '../../platform/kit/backoff.ts'
import { comparePositions, startOfLog, type Position } from '../../platform/kit/positions.ts'
import type { HeadQuestion } from '../store/log-head.ts'
import { handlerOf } from './batch-writer.ts'
import { readCheckpoints, type StoredCheckpoint } from './checkpoints.ts'
import type { Projector } from './projector.ts'
import type { ProjectionRunner } from './runner.ts'
import { fitOf } from './schema.ts'

export interface ReadPositionsOptions {
  readonly pool: Pool
  /** The read models that this program declares. */
  readonly projectors: readonly Projector[]
  /** It reports its batches in memory. Without it, the checkpoints are polled while a caller waits. */
  readonly runner?: Pick<ProjectionRunner, 'onAdvance' | 'hurry'>
  /** A projector is not waited for if its instance has been silent for this long, in milliseconds. Default 5,000. */
  readonly silenceMs?: number
}

interface ReadOutcome {
  /** Every projector has passed the position. */
  readonly caughtUp: boolean
  /** Milliseconds since the slowest remaining projector last moved. Absent if all have passed. */
  readonly lagMs?: number
}

interface Waiter {
  readonly names: readonly string[]
  /** Checks the known positions. `isFresh` is true after a database read that started after the wait. */
  readonly look: (isFresh: boolean) => void
}

/** Poll interval of the checkpoints, in milliseconds. */
const pollMs = 15
/** Longest poll interval, in milliseconds. It applies to a read model that is far behind. */
const longestPollMs = 200

/** The checkpoints as API processes see them. */
export class ReadPositions {
  readonly #pool: Pool
  readonly #projectors: ReadonlyMap<string, Projector>
  readonly #silenceMs: number
  readonly #runner: ReadPositionsOptions['runner']
  readonly #unsubscribe: (() => void) | undefined
  readonly #reached = new Map<string, Position>()
  readonly #stored = new Map<string, StoredCheckpoint>()
  readonly #waiters = new Set<Waiter>()
  readonly #closing = new AbortController()
  #isPolling = false

  constructor({ pool, projectors, runner, silenceMs = 5_000 }: ReadPositionsOptions) {
    this.#pool = pool
    this.#projectors = new Map(projectors.map((projector) => [projector.name, projector]))
    this.#silenceMs = silenceMs
    this.#runner = runner
    this.#unsubscribe = runner?.onAdvance(({ projectors, position }) => {
      for (const name of projectors) this.#advance(name, position)
      for (const waiter of this.#waiters) waiter.look(false)
    })
  }

  /**
   * Waits until the read models contain the position. Stopped, failed, rebuilding and silent projectors are not waited
   * for. Never rejects: a database that is away counts as lag.
   */
  async waitFor(position: Position, projectors: readonly string[], timeoutMs: number): Promise<ReadOutcome> {
    const names = [...new Set(projectors)]
    const since = performance.now()
    const late = (): string[] => names.filter((name) => !this.#hasPassed(name, position))
    if (late().length > 0) {
      await this.#until(
        position,
        names,
        (isFresh) => late().every((name) => isFresh && !this.#isWaitedFor(name)),
        timeoutMs,
      )
    }
    const behind = late()
    if (behind.length === 0) return { caughtUp: true }
    const waitedMs = performance.now() - since
    return {
      caughtUp: false,
      lagMs: Math.round(Math.max(waitedMs, ...behind.map((name) => this.#stored.get(name)?.idleMs ?? 0))),
    }
  }

  /**
   * Whether a projector contains all its events that the log had at the time of the call. `head` returns the newest
   * event that the projector listens to, and need not read below its checkpoint. False for a read model that this
   * program cannot judge: it is unknown, of another version, or has other tables.
   * @throws the errors of `head` and the database
   */
  async requireHead(
    head: (asked: Required<HeadQuestion>) => Promise<Position>,
    name: string,
    timeoutMs: number,
  ): Promise<boolean> {
    const projector = this.#projectors.get(name)
    if (projector === undefined) return false
    const deadline = performance.now() + timeoutMs
    let reached = await this.storedPosition(name)
    if (reached === undefined) return false
    const newest = await head({ downTo: reached, wants: (type) => handlerOf(projector, type) !== undefined })
    // Only the stored checkpoint counts here. It commits with the rows, even during a rebuild.
    this.#runner?.hurry(newest)()
    for (
      let pauseMs = pollMs;
      comparePositions(reached, newest) < 0;
      pauseMs = Math.min(pauseMs * 1.5, longestPollMs)
    ) {
      const leftMs = deadline - performance.now()
      if (leftMs <= 0 || this.#closing.signal.aborted) return false
      await pause(Math.min(pauseMs, leftMs), this.#closing.signal)
      reached = await this.storedPosition(name)
      if (reached === undefined) return false
    }
    return true
  }

  /** The stored checkpoint. It commits with the rows. Undefined as `requireHead` is false. */
  async storedPosition(name: string): Promise<Position | undefined> {
    const projector = this.#projectors.get(name)
    if (projector === undefined) return undefined
    const stored = (await readCheckpoints(this.#pool, [name])).get(name)
    if (stored === undefined) return startOfLog
    return fitOf(stored, projector) === 'current' ? stored.position : undefined
  }

  close(): void {
    this.#closing.abort()
    this.#unsubscribe?.()
  }

  #until(
    position: Position,
    names: readonly string[],
    isReached: (isFresh: boolean) => boolean,
    timeoutMs: number,
  ): Promise<void> {
    return new Promise((resolve) => {
      const ended = this.#runner?.hurry(position)
      const finish = (): void => {
        ended?.()
        clearTimeout(timer)
        this.#waiters.delete(waiter)
        resolve()
      }
      const waiter: Waiter = { names, look: (isFresh) => isReached(isFresh) && finish() }
      const timer = setTimeout(finish, timeoutMs)
      this.#waiters.add(waiter)
      if (!this.#isPolling) void this.#poll()
    })
  }

  /** Runs while a caller waits. A runner in this process usually answers before the first poll. */
  async #poll(): Promise<void> {
    this.#isPolling = true
    if (this.#runner !== undefined) await pause(pollMs, this.#closing.signal)
    while (this.#waiters.size > 0 && !this.#closing.signal.aborted) {
      const asking = [...this.#waiters]
      const names = [...new Set(asking.flatMap((waiter) => waiter.names))]
      const found = await readCheckpoints(this.#pool, names).catch(() => undefined)
      if (found !== undefined) {
        for (const name of names) this.#remember(name, found.get(name))
        for (const waiter of asking) waiter.look(true)
      }
      if (this.#waiters.size > 0) await pause(pollMs, this.#closing.signal)
    }
    this.#isPolling = false
  }

  #remember(name: string, checkpoint: StoredCheckpoint | undefined): void {
    if (checkpoint === undefined) {
      this.#stored.delete(name)
      this.#reached.delete(name)
      return
    }
    this.#stored.set(name, checkpoint)
    // A rebuild starts over, so the stored position counts more than an earlier report.
    if (checkpoint.status === 'rebuilding') this.#reached.set(name, checkpoint.position)
    else this.#advance(name, checkpoint.position)
  }

  #advance(name: string, position: Position): void {
    const known = this.#reached.get(name)
    if (known === undefined || comparePositions(known, position) < 0) this.#reached.set(name, position)
  }

  #hasPassed(name: string, position: Position): boolean {
    const known = this.#reached.get(name)
    return known !== undefined && comparePositions(known, position) >= 0
  }

  #isWaitedFor(name: string): boolean {
    const checkpoint = this.#stored.get(name)
    if (checkpoint?.status !== 'running' || checkpoint.heartbeatAgeMs === null) return false
    return checkpoint.heartbeatAgeMs < this.#silenceMs
  }
}

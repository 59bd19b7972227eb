import type { Position } from '../../platform/kit/positions.ts'
import type { LogFrame } from './log-frames.ts'

/** A subscription, as the watch sees it. */
export interface Follower {
  /** Whether the server should deliver the event to it. */
  accepts(event: LogFrame): boolean
  /** The leader's log contains this event for it. */
  mustReach(event: LogFrame): void
  /** Leaves its node if the node has been silent for too long. */
  check(): void
}

export interface LeaderWatchOptions {
  /** Events of the leader's log, newest first. Rejects if no leader answers. */
  readonly newestFirst: () => AsyncIterable<LogFrame>
  readonly now: () => Date
  /** Milliseconds of a monotonic clock. */
  readonly clockMs?: () => number
  readonly intervalMs?: number
}

/** After failures of reads or writes for this time, the store counts as one that accepts no writes, in milliseconds. */
export const toleratedMs = 10_000
const defaultIntervalMs = 5_000
/** While a look fails, the watch looks this many times as often: callers wait for the return of the leader. */
const impatience = 5
/** Events of the first look. Each later look ends where the look before it began. */
const firstLook = 64
/** Events of any look. A look back over a long outage would itself count as one. */
const longestLook = 4_096

/** Something that fails since an instant, until it succeeds. */
class Failing {
  #sinceMs: number | undefined
  #succeededMs = -Infinity
  readonly #clockMs: () => number

  constructor(clockMs: () => number) {
    this.#clockMs = clockMs
  }

  /** What began before the last success does not count from its beginning: something succeeded meanwhile. */
  failed(sinceMs: number): void {
    this.#sinceMs ??= Math.max(sinceMs, this.#succeededMs)
  }

  succeeded(): void {
    this.#sinceMs = undefined
    this.#succeededMs = this.#clockMs()
  }

  get isFailing(): boolean {
    return this.#sinceMs !== undefined
  }

  /** Milliseconds since the first failure; 0 without one. */
  get forMs(): number {
    return this.#sinceMs === undefined ? 0 : this.#clockMs() - this.#sinceMs
  }
}

/**
 * Reads the head of the leader's log every five seconds. Only this read detects a node without a leader: the node still
 * answers reads of streams and keeps subscriptions open, but it accepts no writes and delivers no events. The watch
 * also uses the appends of this process. After an append without an answer it appends small probes until the node
 * accepts one.
 */
export class LeaderWatch {
  readonly #options: LeaderWatchOptions
  readonly #clockMs: () => number
  readonly #followers = new Set<Follower>()
  readonly #reads: Failing
  readonly #appends: Failing
  #lookingSince: number | undefined
  #head: Position | undefined
  #timer: NodeJS.Timeout | undefined
  #isProbing = false
  #turns = 0
  #probeStore: (() => Promise<void>) | undefined

  constructor(options: LeaderWatchOptions) {
    this.#options = options
    this.#clockMs = options.clockMs ?? (() => performance.now())
    this.#reads = new Failing(this.#clockMs)
    this.#appends = new Failing(this.#clockMs)
  }

  /** `probe` appends a small event. It is called while appends fail, until one is answered. */
  start(probe: () => Promise<void>): void {
    this.#probeStore = probe
    const { intervalMs = defaultIntervalMs } = this.#options
    this.#timer ??= setInterval(() => this.#turn(), intervalMs / impatience).unref()
    this.#tick()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  follow(follower: Follower): () => void {
    this.#followers.add(follower)
    return () => void this.#followers.delete(follower)
  }

  /** To be called with the result of each attempt of an append, and the time when it was sent. */
  appendEnded(isAnswered: boolean, sentAtMs: number): void {
    if (isAnswered) this.#appends.succeeded()
    else this.#appends.failed(sentAtMs)
  }

  /** Whether the leader has answered the newest look. A look that still waits counts as answered for ten seconds. */
  hearsLeader(): boolean {
    return this.#timer === undefined || (!this.#reads.isFailing && this.#waitsForMs() < toleratedMs)
  }

  /** The instant since which the store has accepted no write. Undefined while it accepts them. */
  refusesWritesSince(): Date | undefined {
    if (this.#timer === undefined) return undefined
    const longest = Math.max(this.#reads.forMs, this.#appends.forMs, this.#waitsForMs())
    return longest < toleratedMs ? undefined : new Date(this.#options.now().getTime() - longest)
  }

  #waitsForMs(): number {
    return this.#lookingSince === undefined ? 0 : this.#clockMs() - this.#lookingSince
  }

  #turn(): void {
    this.#turns += 1
    if (this.#turns % impatience === 0) this.#tick()
    else if (this.#reads.isFailing) this.#lookUnlessLooking()
  }

  #tick(): void {
    for (const follower of this.#followers) follower.check()
    this.#lookUnlessLooking()
    if (this.#appends.isFailing && !this.#isProbing) void this.#probe()
  }

  #lookUnlessLooking(): void {
    if (this.#lookingSince === undefined) void this.#look()
  }

  async #look(): Promise<void> {
    const startedAt = this.#clockMs()
    this.#lookingSince = startedAt
    try {
      this.#head = await this.#showFollowers(this.#head)
      this.#reads.succeeded()
    } catch {
      this.#reads.failed(startedAt)
    } finally {
      this.#lookingSince = undefined
    }
  }

  /** Shows each follower the newest event for it after `downTo`. Returns the head. */
  async #showFollowers(downTo: Position | undefined): Promise<Position | undefined> {
    const waiting = new Set(this.#followers)
    let head = downTo
    let seen = 0
    for await (const event of this.#options.newestFirst()) {
      if (seen === (downTo === undefined ? firstLook : longestLook) || (downTo !== undefined && event.isUpTo(downTo)))
        break
      if (seen === 0) head = event.position
      seen += 1
      for (const follower of waiting) {
        if (!follower.accepts(event)) continue
        follower.mustReach(event)
        waiting.delete(follower)
      }
      if (waiting.size === 0) break
    }
    return head
  }

  async #probe(): Promise<void> {
    this.#isProbing = true
    // The append reports its own result.
    await this.#probeStore?.().catch(() => undefined)
    this.#isProbing = false
  }
}

/** Rows that are put off become claimable within so many milliseconds. */
const putOffGrain = 50
/** Milliseconds without news until the list is asked when its next row is due. */
const quietMs = 20
/** Milliseconds from one poll to the next while news come one after the other, unless a quarter of the steps ends sooner. */
const restMs = 10
const longestRestMs = 100
/** How far one step moves what is taken for their usual time. */
const drift = 1.1

/**
 * When a process worker polls for rows: on news of its list, after a step that may have held a row back, and at the time of
 * a row. The first news after a quiet time starts a poll at once. Later news in quick succession share a poll. Names in `Ms`
 * are on the monotonic clock.
 */
export class PollSchedule {
  #isStirred = true
  #isHungry = false
  /** When the last poll began, on both clocks. */
  #lookedAt = new Date(0)
  #lookedMs = Number.NEGATIVE_INFINITY
  /** When the list has its next row after that; `unknown` until it is asked. */
  #nextListed: Date | 'unknown' | undefined = 'unknown'
  readonly #putOff = new Set<number>()
  #inHandThen = 0
  #endedSince = 0
  /** Close to the median, so that calls which hang do not count for more than others. */
  #usualMs = 4 * restMs

  /** Whether there may be rows to be taken. */
  get isStirred(): boolean {
    return this.#isStirred
  }

  /** Until when it waits for more news. */
  get restsUntilMs(): number {
    const isQuarterFree = this.#endedSince > 0 && this.#endedSince * 4 >= this.#inHandThen
    if (isQuarterFree) return 0
    // Where rows wait for workers, a quarter of what a step usually takes is no great loss to one that comes free.
    return this.#lookedMs + (this.#isHungry ? this.#usualMs / 4 : restMs)
  }

  /** There may be new rows. */
  stir(): void {
    this.#isStirred = true
  }

  begin(nowMs: number): void {
    this.#isStirred = false
    this.#lookedMs = nowMs
  }

  /** What a look came to: `isHungry` when it may have left rows for want of workers, `inHand` steps are under way now. */
  end(now: Date, isHungry: boolean, inHand: number): void {
    this.#lookedAt = now
    this.#nextListed = 'unknown'
    this.#isHungry = isHungry
    this.#inHandThen = inHand
    this.#endedSince = 0
  }

  /** A step is over that took so many milliseconds. */
  stepEnded(ms: number): void {
    this.#endedSince += 1
    const moved = ms > this.#usualMs ? this.#usualMs * drift : this.#usualMs / drift
    this.#usualMs = Math.min(4 * longestRestMs, Math.max(4 * restMs, moved))
    if (this.#isHungry) this.stir()
  }

  /** A row is not to be taken before then. */
  putOff(until: Date): void {
    this.#putOff.add(Math.ceil(until.getTime() / putOffGrain) * putOffGrain)
  }

  /** After which instant the list is to be asked for its next row now; undefined when it is not. */
  asksAfter(nowMs: number): Date | undefined {
    return this.#isStirred || this.#nextListed !== 'unknown' || nowMs < this.#lookedMs + quietMs
      ? undefined
      : this.#lookedAt
  }

  /** What the list said. */
  listed(after: Date, next: Date | undefined): void {
    if (this.#lookedAt === after) this.#nextListed = next
  }

  /** The first instant at which there may be rows again, of those that are known; `alsoAt` is one, given the instant of the last look. */
  nextAt(alsoAt: (since: Date) => Date | undefined): Date | undefined {
    const since = this.#lookedAt.getTime()
    for (const instant of this.#putOff) if (instant <= since) this.#putOff.delete(instant)
    const instants = [...this.#putOff]
    for (const other of [this.#nextListed === 'unknown' ? undefined : this.#nextListed, alsoAt(this.#lookedAt)]) {
      if (other !== undefined) instants.push(other.getTime())
    }
    return instants.length === 0 ? undefined : new Date(Math.min(...instants))
  }

  /** When the list is to be asked; undefined when it has been, or a look comes first. */
  get asksAtMs(): number | undefined {
    return this.#isStirred || this.#nextListed !== 'unknown' ? undefined : this.#lookedMs + quietMs
  }
}

/**
 * The progress of a replay of parked messages. The parked stream is truncated behind a message only when the message is
 * finished. A message that was replayed but not acknowledged when the node stops stays parked.
 */
export class ParkedReplay {
  /** In ascending order, as messages are read. */
  private readonly unfinished = new Set<number>()
  private until = 0
  private cut = 0
  private stopAt: number | undefined

  get isRunning(): boolean {
    return this.stopAt !== undefined
  }

  /** Messages before this revision no longer count as parked. */
  get replayedUntil(): number {
    return this.until
  }

  /**
   * Starts a replay from `first`, the oldest parked message, to `stopAt`, exclusive. Returns the revision to read from,
   * if there is anything.
   */
  begin(first: number, stopAt: number): number | undefined {
    this.until = Math.max(this.until, first)
    this.cut = Math.max(this.cut, first)
    if (this.isRunning || stopAt <= this.until) return undefined
    this.stopAt = stopAt
    return this.until
  }

  /** Whether a message that was read belongs to the running replay. */
  takes(revision: number): boolean {
    if (this.stopAt === undefined || revision >= this.stopAt || revision < this.until) return false
    this.unfinished.add(revision)
    return true
  }

  /**
   * Records that everything before `next` was read. Returns the revision from which to continue, or undefined when the
   * replay is complete.
   */
  advance(next: number, isEnd: boolean): { from: number; left: number } | undefined {
    if (this.stopAt === undefined) return undefined
    const { stopAt } = this
    this.until = Math.max(this.until, isEnd ? stopAt : Math.min(next, stopAt))
    if (this.until < stopAt) return { from: this.until, left: stopAt - this.until }
    this.stopAt = undefined
    return undefined
  }

  finish(revision: number): void {
    this.unfinished.delete(revision)
  }

  /** The revision at which to truncate the parked stream, if it moved since the last call. */
  takeCut(): number | undefined {
    const [lowest = this.until] = this.unfinished
    if (lowest <= this.cut) return undefined
    this.cut = lowest
    return lowest
  }

  get isFinished(): boolean {
    return !this.isRunning && this.unfinished.size === 0
  }
}

/**
 * How far the parked messages of a group were replayed. The parked stream is cut off behind a message only once the message is done
 * with: what was replayed but not acknowledged when the node stops is still parked afterwards.
 */
export class ParkedReplay {
  /** In rising order, as messages are read. */
  private readonly unfinished = new Set<number>()
  private until = 0
  private cut = 0
  private stopAt: number | undefined

  get isRunning(): boolean {
    return this.stopAt !== undefined
  }

  /** Revision before which nothing counts as parked any more. */
  get replayedUntil(): number {
    return this.until
  }

  /** Begins a replay of the messages from `first`, the oldest that is parked, to before `stopAt`. Returns where to read from, if there is anything. */
  begin(first: number, stopAt: number): number | undefined {
    this.until = Math.max(this.until, first)
    this.cut = Math.max(this.cut, first)
    if (this.isRunning || stopAt <= this.until) return undefined
    this.stopAt = stopAt
    return this.until
  }

  /** Whether a message that was read is part of the running replay. */
  takes(revision: number): boolean {
    if (this.stopAt === undefined || revision >= this.stopAt || revision < this.until) return false
    this.unfinished.add(revision)
    return true
  }

  /** Everything before `next` was read; the revision to go on from, or undefined when the replay is complete. */
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

  /** Revision to cut the parked stream off at, when that has moved since it was last asked for. */
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

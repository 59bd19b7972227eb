import type { Message } from './message.ts'

type CheckpointSettings = { checkpointAfter: number; minCheckpointCount: number; maxCheckpointCount: number }

/**
 * Decides when a group writes its checkpoint. A checkpoint never passes an unfinished message: one that waits, is with
 * a consumer or is to be retried. Counts every event that arrived, including those that the filter excluded.
 */
export class Checkpoints {
  private readonly settings: CheckpointSettings
  private seen: { position: number | undefined; sequence: number }
  private written: { position: number | undefined; sequence: number }
  private writtenAt = -Infinity

  /** `position` is the checkpoint from which to continue. */
  constructor(settings: CheckpointSettings, position: number | undefined) {
    this.settings = settings
    this.seen = { position, sequence: position === undefined ? -1 : 0 }
    this.written = this.seen
  }

  /** Position of the last checkpoint. */
  get last(): number | undefined {
    return this.written.position
  }

  /** Position of the last event that arrived. */
  get arrived(): number {
    return this.seen.position ?? -1
  }

  /** Numbers an arriving event. */
  arrive(position: number): NonNullable<Message<unknown>['origin']> {
    const previous = this.seen.position
    this.seen = { position, sequence: this.seen.sequence + 1 }
    return { position, sequence: this.seen.sequence, previous }
  }

  /** Counts events up to a position that the filter excluded. */
  passOver(position: number, count: number): void {
    this.seen = { position, sequence: this.seen.sequence + count }
  }

  /** The position to write now, if a checkpoint is due. `lowest` returns the first unfinished message. */
  due(now: number, isTick: boolean, lowest: () => Message<unknown> | undefined): number | undefined {
    if (!this.isDue(this.seen.sequence, now, isTick)) return undefined
    const undone = lowest()?.origin
    const reached = undone === undefined ? this.seen : { position: undone.previous, sequence: undone.sequence - 1 }
    if (reached.position === undefined || !this.isDue(reached.sequence, now, isTick)) return undefined
    this.written = reached
    this.writtenAt = now
    return reached.position
  }

  private isDue(sequence: number, now: number, isTick: boolean): boolean {
    const { checkpointAfter, minCheckpointCount, maxCheckpointCount } = this.settings
    const progress = sequence - this.written.sequence
    if (progress <= 0) return false
    if (progress >= maxCheckpointCount) return true
    const isTime = checkpointAfter !== 0 && now - this.writtenAt >= checkpointAfter
    return isTick && isTime && progress >= minCheckpointCount
  }
}

import type { Message } from './message.ts'

type CheckpointSettings = { checkpointAfter: number; minCheckpointCount: number; maxCheckpointCount: number }

/**
 * When a group remembers how far it has come: never beyond a message that is not done with, whether it waits, is out with a
 * consumer or is to be tried again. Counts every event that arrived, those that a filter kept out too.
 */
export class Checkpoints {
  private readonly settings: CheckpointSettings
  private seen: { position: number | undefined; sequence: number }
  private written: { position: number | undefined; sequence: number }
  private writtenAt = -Infinity

  /** `position`: the checkpoint to go on from. */
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

  /** Numbers an event that arrives. */
  arrive(position: number): NonNullable<Message<unknown>['origin']> {
    const previous = this.seen.position
    this.seen = { position, sequence: this.seen.sequence + 1 }
    return { position, sequence: this.seen.sequence, previous }
  }

  /** Events up to a position that a filter kept out. */
  passOver(position: number, count: number): void {
    this.seen = { position, sequence: this.seen.sequence + count }
  }

  /** Position to write now, if one is due. `lowest` is asked for the first message that is not done with. */
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

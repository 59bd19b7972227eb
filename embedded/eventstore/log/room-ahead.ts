import { NoRoomError, isForWantOfRoom } from './no-room.ts'
import { extendSegment, shortenSegment, type Segment } from './segment.ts'

const SMALLEST_EXTENSION = 1 << 20
const LARGEST_EXTENSION = 16 << 20
/** After a refusal nothing is tried for so long, in milliseconds: each try writes what is left of the disk. */
const PAUSE_MS = 250

/**
 * The room that is written ahead of the appends. An append is let in only when it has its place on the disk, so a full disk refuses
 * it before anything is changed, and everything that was let in can be written.
 */
export class RoomAhead {
  private refusedAt = -Infinity

  /** True from a refusal until there was room again. */
  get isWanting(): boolean {
    return this.refusedAt !== -Infinity
  }

  /**
   * Sees to it that the first `used` bytes of a segment are there, and `spare` more if the disk has them without which it
   * refuses. Throws NoRoomError, and what else a write may fail with.
   */
  make(segment: Segment, used: number, spare: number): void {
    const needed = used + spare
    if (needed <= segment.size) return
    if (performance.now() - this.refusedAt < PAUSE_MS) throw new NoRoomError()
    const before = segment.size
    try {
      extendSegment(segment, needed + Math.min(LARGEST_EXTENSION, Math.max(SMALLEST_EXTENSION, before)))
    } catch (error) {
      if (!isForWantOfRoom(error)) throw error
      if (segment.size < needed) {
        if (!this.isWanting) say('error', 'event-store-full')
        this.refusedAt = performance.now()
        // What is left of the disk is no use here, but to the index, whose writes are waiting too.
        shortenSegment(segment, before)
        throw new NoRoomError({ cause: error })
      }
    }
    if (this.isWanting) say('info', 'event-store-has-room')
    this.refusedAt = -Infinity
  }
}

function say(level: 'info' | 'error', event: string): void {
  process.stderr.write(`${JSON.stringify({ level, event })}\n`)
}

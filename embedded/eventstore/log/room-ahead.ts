import { statfsSync } from 'node:fs'
import { NoRoomError, isForWantOfRoom } from './log-errors.ts'
import { extendSegment, shortenSegment, type Segment } from './segment.ts'

const SMALLEST_EXTENSION = 1 << 20
const LARGEST_EXTENSION = 16 << 20
/** After a refusal nothing is tried for so long, in milliseconds. */
const PAUSE_MS = 250

/** Bytes that the disk of a folder has left; a file system that tells no size may have any. */
export function freeBytes(folder: string): number {
  const { bavail, blocks, bsize } = statfsSync(folder)
  return blocks === 0 ? Infinity : bavail * bsize
}

/**
 * The room that is written ahead of the appends. An append is let in only when it has its place on the disk, so a full disk refuses
 * it before anything is changed, and everything that was let in can be written.
 */
export class RoomAhead {
  private readonly free: () => number
  private refusedAt = -Infinity

  /** `free` tells the bytes that the disk has left. */
  constructor(free: () => number) {
    this.free = free
  }

  /** True from a refusal until there was room again. */
  get isWanting(): boolean {
    return this.refusedAt !== -Infinity
  }

  /** True right after a refusal: nothing is tried then. */
  get isPausing(): boolean {
    return performance.now() - this.refusedAt < PAUSE_MS
  }

  /**
   * Sees to it that the first `used` bytes of a segment are there, and `spare` more if the disk has them without which it
   * refuses. Throws NoRoomError, and what else a write may fail with.
   */
  make(segment: Segment, used: number, spare: number): void {
    const needed = used + spare
    if (needed <= segment.size) return
    if (this.isPausing) throw new NoRoomError()
    const before = segment.size
    const left = this.free() - (needed - before)
    // Others write to this disk too, for whom its last bytes may be what they live on: a look for room takes none of them.
    if (this.isWanting && left < 0) throw this.refused()
    const ahead = Math.min(LARGEST_EXTENSION, Math.max(SMALLEST_EXTENSION, before), Math.max(0, left / 2))
    try {
      extendSegment(segment, needed + Math.floor(ahead))
    } catch (error) {
      if (!isForWantOfRoom(error)) throw error
      if (segment.size < needed) {
        // What is left of the disk is no use here, but to the index, whose writes are waiting too.
        if (segment.size > before) shortenSegment(segment, before)
        throw this.refused(error)
      }
    }
    if (this.isWanting) say('info', 'event-store-has-room')
    this.refusedAt = -Infinity
  }

  /** Takes note that there is no room; what to throw for that. */
  refused(cause?: unknown): NoRoomError {
    if (!this.isWanting) say('error', 'event-store-full')
    this.refusedAt = performance.now()
    return new NoRoomError(cause === undefined ? undefined : { cause })
  }
}

function say(level: 'info' | 'error', event: string): void {
  process.stderr.write(`${JSON.stringify({ level, event })}\n`)
}

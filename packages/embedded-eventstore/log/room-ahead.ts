import { statfsSync } from 'node:fs'
import { NoRoomError, isForWantOfRoom } from './log-errors.ts'
import { extendSegment, shortenSegment, type Segment } from './segment.ts'

const SMALLEST_EXTENSION = 1 << 20
const LARGEST_EXTENSION = 16 << 20
/** Pause after a refusal before the next try, in milliseconds. */
const PAUSE_MS = 250

/** Free bytes on the disk of a folder. A file system without a size counts as unlimited. */
export function freeBytes(folder: string): number {
  const { bavail, blocks, bsize } = statfsSync(folder)
  return blocks === 0 ? Infinity : bavail * bsize
}

/**
 * Allocates disk space ahead of the appends. An append is accepted only when its place on the disk exists. A full disk
 * refuses it before anything changes, and every accepted append can be written.
 */
export class RoomAhead {
  private readonly free: () => number
  private refusedAt = -Infinity

  /** `free` returns the free bytes of the disk. */
  constructor(free: () => number) {
    this.free = free
  }

  /** True from a refusal until there is room again. */
  get isWanting(): boolean {
    return this.refusedAt !== -Infinity
  }

  /** True right after a refusal. No try is made then. */
  get isPausing(): boolean {
    return performance.now() - this.refusedAt < PAUSE_MS
  }

  /**
   * Allocates the first `used` bytes of a segment, and `spare` more bytes. Throws NoRoomError when the disk lacks
   * either, and passes on other write errors.
   */
  make(segment: Segment, used: number, spare: number): void {
    const needed = used + spare
    if (needed <= segment.size) return
    if (this.isPausing) throw new NoRoomError()
    const before = segment.size
    const left = this.free() - (needed - before)
    // Other programs write to this disk too and may depend on its last bytes. A retry therefore takes none of them.
    if (this.isWanting && left < 0) throw this.refused()
    const ahead = Math.min(LARGEST_EXTENSION, Math.max(SMALLEST_EXTENSION, before), Math.max(0, left / 2))
    try {
      extendSegment(segment, needed + Math.floor(ahead))
    } catch (error) {
      if (!isForWantOfRoom(error)) throw error
      if (segment.size < needed) {
        // The remaining bytes do not help the log. They help the index, whose writes wait too.
        if (segment.size > before) shortenSegment(segment, before)
        throw this.refused(error)
      }
    }
    if (this.isWanting) say('info', 'event-store-has-room')
    this.refusedAt = -Infinity
  }

  /** Records that there is no room and returns the error to throw. */
  refused(cause?: unknown): NoRoomError {
    if (!this.isWanting) say('error', 'event-store-full')
    this.refusedAt = performance.now()
    return new NoRoomError(cause === undefined ? undefined : { cause })
  }
}

function say(level: 'info' | 'error', event: string): void {
  process.stderr.write(`${JSON.stringify({ level, event })}\n`)
}

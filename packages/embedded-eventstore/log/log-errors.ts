import { errorCode } from '../error-codes.ts'

/** The log differs from what was written. The data at the position must not be served. */
export class CorruptLogError extends Error {
  constructor(what: string, position: number) {
    super(`event log is damaged at position ${position}: ${what}`)
    this.name = 'CorruptLogError'
  }
}

/**
 * The index does not match the log. Nothing is lost: after its deletion the next start builds it again from the log.
 */
export class CorruptIndexError extends Error {
  constructor(stream: string, what: string) {
    super(`event index is damaged at stream ${stream}: ${what}; stop the node, delete index.sqlite* and start it again`)
    this.name = 'CorruptIndexError'
  }
}

/** The disk has no room for an append. Nothing of it was written, so a client can repeat it once there is room. */
export class NoRoomError extends Error {
  constructor(options?: ErrorOptions) {
    super('the disk has no room for another append', options)
    this.name = 'NoRoomError'
  }
}

const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** Whether a write failed for lack of room: on the disk, in a quota, or under the limit for the size of a file. */
export function isForWantOfRoom(error: unknown): boolean {
  return FULL.has(errorCode(error))
}

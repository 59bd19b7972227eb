/** The log is not what was written: the data named in the message must not be served. */
export class CorruptLogError extends Error {
  constructor(what: string, position: number) {
    super(`event log is damaged at position ${position}: ${what}`)
    this.name = 'CorruptLogError'
  }
}

/** The index does not fit the log. Nothing is lost: deleted, it is built again from the log at the next start. */
export class CorruptIndexError extends Error {
  constructor(stream: string, what: string) {
    super(`event index is damaged at stream ${stream}: ${what}; stop the node, delete index.sqlite* and start it again`)
    this.name = 'CorruptIndexError'
  }
}

/** The disk takes no more of an append, of which nothing was written: it may be asked for again once there is room. */
export class NoRoomError extends Error {
  constructor(options?: ErrorOptions) {
    super('the disk has no room for another append', options)
    this.name = 'NoRoomError'
  }
}

const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** Whether a write failed for want of room: the disk's, a quota's, or that of the largest file allowed. */
export function isForWantOfRoom(error: unknown): boolean {
  return error instanceof Error && 'code' in error && FULL.has(error.code)
}

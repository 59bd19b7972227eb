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

import { createHash } from 'node:crypto'
import { v7 } from 'uuid'

/**
 * A UUID v7 that follows from its cause: the instant from when it happened, the rest from a hash of its name. A step that
 * runs twice mints the same id, which a random one would not.
 */
export function derivedV7(name: string, at: Date): string {
  const random = new Uint8Array(createHash('sha256').update(name).digest().subarray(0, 16))
  return v7({ msecs: at.getTime(), random })
}

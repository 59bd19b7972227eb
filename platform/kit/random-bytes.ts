import { randomFillSync } from 'node:crypto'

/** A draw of a few random bytes takes as long as one of thousands. Each thread has its own. */
const drawn = Buffer.alloc(4_096)
let used = drawn.length

/** Up to 4,096 random bytes, valid until the next call. None is returned twice. */
export function randomPart(length: number): Uint8Array {
  if (used + length > drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  used += length
  return drawn.subarray(used - length, used)
}

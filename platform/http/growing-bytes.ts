import { problem } from './problems.ts'

/** Collects pieces in one buffer. Separate small pieces would cost a hundred times their bytes. */
export interface GrowingBytes {
  /** @throws Problem `body-too-large` */
  add(piece: Buffer): void
  /** All bytes so far. The next piece is added to the same memory. */
  all(): Buffer
}

const firstRoom = 4096

/** @param mostBytes limit of all pieces together */
export function createGrowingBytes(mostBytes: number): GrowingBytes {
  let kept = Buffer.allocUnsafe(Math.min(firstRoom, mostBytes))
  let length = 0
  return {
    add(piece) {
      const needed = length + piece.length
      if (needed > mostBytes) throw problem('body-too-large')
      if (needed > kept.length) {
        const larger = Buffer.allocUnsafe(Math.min(mostBytes, Math.max(needed, kept.length * 2)))
        kept.copy(larger, 0, 0, length)
        kept = larger
      }
      piece.copy(kept, length)
      length = needed
    },
    all: () => kept.subarray(0, length),
  }
}

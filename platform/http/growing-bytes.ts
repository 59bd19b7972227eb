import { problem } from './problems.ts'

/** Bytes that come in pieces, kept as one: each piece kept by itself would cost a hundred times its bytes where they are small. */
export interface GrowingBytes {
  /** @throws Problem `body-too-large` */
  add(piece: Buffer): void
  /** All so far, in the memory that the next piece is added to. */
  all(): Buffer
}

const firstRoom = 4096

/** @param mostBytes of all pieces */
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

import { hash } from 'node:crypto'

/** A SHA-256 hash, 32 bytes. */
export type Hash = Buffer

export const hashBytes = 32

const leafPrefix = Buffer.of(0)
const nodePrefix = Buffer.of(1)

/** Root of the tree without a leaf (RFC 6962, section 2.1). */
export const emptyRoot: Hash = sha256(Buffer.alloc(0))

/** A text in between takes a third of the time of the output as a buffer. */
function sha256(bytes: Uint8Array): Hash {
  return Buffer.from(hash('sha256', bytes, 'hex'), 'hex')
}

/** Hash of an entry as a leaf of the tree. */
export function leafHash(entry: Uint8Array): Hash {
  return sha256(Buffer.concat([leafPrefix, entry]))
}

export function nodeHash(left: Hash, right: Hash): Hash {
  return sha256(Buffer.concat([nodePrefix, left, right]))
}

/**
 * Root of a tree over these hashes, in their order. They are leaves, or roots of subtrees of one size; the last one may be
 * the root of a smaller subtree.
 */
export function rootOf(hashes: readonly Hash[]): Hash {
  let row = hashes
  while (row.length > 1) {
    const above: Hash[] = []
    for (let at = 0; at < row.length; at += 2) {
      const [left, right] = [row[at], row[at + 1]]
      if (left !== undefined) above.push(right === undefined ? left : nodeHash(left, right))
    }
    row = above
  }
  return row[0] ?? emptyRoot
}

/** The largest power of two below a number above 1: where RFC 6962 splits a tree of that size. */
export function splitOf(size: number): number {
  let split = 1
  while (split * 2 < size) split *= 2
  return split
}

export interface Inclusion {
  readonly index: number
  readonly size: number
  readonly proof: readonly Hash[]
}

/** Whether the proof leads from the leaf to the root (RFC 9162, section 2.1.3.2). */
export function isIncluded(leaf: Hash, { index, size, proof }: Inclusion, root: Hash): boolean {
  if (index >= size) return false
  let [at, last, reached] = [index, size - 1, leaf]
  for (const sibling of proof) {
    if (last === 0) return false
    if (at % 2 === 1 || at === last) {
      reached = nodeHash(sibling, reached)
      while (at % 2 === 0 && at !== 0) [at, last] = [at / 2, half(last)]
    } else reached = nodeHash(reached, sibling)
    ;[at, last] = [half(at), half(last)]
  }
  return last === 0 && reached.equals(root)
}

interface TreeHead {
  readonly size: number
  readonly root: Hash
}

/** Whether the proof shows that the newer tree begins with the older one (RFC 9162, section 2.1.4.2). */
export function isConsistent(older: TreeHead, newer: TreeHead, proof: readonly Hash[]): boolean {
  if (older.size > newer.size) return false
  if (older.size === newer.size) return proof.length === 0 && older.root.equals(newer.root)
  if (older.size === 0) return proof.length === 0 && older.root.equals(emptyRoot)
  let [at, last] = [older.size - 1, newer.size - 1]
  while (at % 2 === 1) [at, last] = [half(at), half(last)]
  const [first, ...others] = at === 0 ? [older.root, ...proof] : proof
  if (first === undefined) return false
  let [before, after] = [first, first]
  for (const sibling of others) {
    if (last === 0) return false
    if (at % 2 === 1 || at === last) {
      before = nodeHash(sibling, before)
      after = nodeHash(sibling, after)
      while (at % 2 === 0 && at !== 0) [at, last] = [at / 2, half(last)]
    } else after = nodeHash(after, sibling)
    ;[at, last] = [half(at), half(last)]
  }
  return last === 0 && before.equals(older.root) && after.equals(newer.root)
}

/** Bit operators would cut a size to 32 bits. */
function half(size: number): number {
  return Math.floor(size / 2)
}

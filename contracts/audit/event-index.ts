import { startOfLog, type Position } from '../../platform/kit/positions.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { tileWidth } from '../../platform/transparency-log/tiles.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { blockLeaves, blockPath, bytesOf, logFolder } from './log-objects.ts'
import { decodeRecord, sealedPartOf } from './log-record.ts'

// A block of the index has a part for each tile of 256 leaves: the position of its first event, then for each event the
// last bytes of its id. So a proof finds an event by its id, and an entry bundle its first event, without a scan.

const positionBytes = 16
const idBytes = 6
const partBytes = positionBytes + tileWidth * idBytes

/** The last block of the index, to which the sealing adds events. */
export class IndexBlock {
  #leaves: number
  readonly #bytes: Buffer

  constructor(leaves: number, stored?: Uint8Array) {
    this.#leaves = leaves
    this.#bytes = Buffer.alloc((blockLeaves / tileWidth) * partBytes)
    if (stored !== undefined) this.#bytes.set(stored)
  }

  get leaves(): number {
    return this.#leaves
  }

  get isFull(): boolean {
    return this.#leaves === blockLeaves
  }

  add(id: string, { commit, prepare }: Position): void {
    const part = Math.floor(this.#leaves / tileWidth) * partBytes
    const within = this.#leaves % tileWidth
    if (within === 0) {
      this.#bytes.writeBigUInt64BE(commit, part)
      this.#bytes.writeBigUInt64BE(prepare, part + 8)
    }
    suffixOf(id).copy(this.#bytes, part + positionBytes + within * idBytes)
    this.#leaves += 1
  }

  /** A copy: the block goes on while it is stored. */
  stored(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, bytesOfBlock(this.#leaves)))
  }
}

export function bytesOfBlock(leaves: number): number {
  const within = leaves % tileWidth
  return Math.floor(leaves / tileWidth) * partBytes + (within === 0 ? 0 : positionBytes + within * idBytes)
}

interface IndexServers {
  readonly objects: Pick<ObjectStore, 'read'>
  readonly vault: Pick<Vault, 'record'>
}

/**
 * A block as the tree of that size has it. A partial one that is gone is the beginning of the one that a later seal stored in
 * its place. Undefined if there is none.
 */
export async function readBlock(
  { objects, vault }: IndexServers,
  { generation, size }: { readonly generation: number; readonly size: number },
  block: number,
): Promise<Buffer | undefined> {
  const leavesAt = (sizeThen: number) => Math.min(sizeThen - block * blockLeaves, blockLeaves)
  for (let sealed = size; ;) {
    const bytes = await bytesOf(objects, logFolder(generation) + blockPath(block, leavesAt(sealed)))
    if (bytes !== undefined) return bytes.subarray(0, bytesOfBlock(leavesAt(size)))
    const kept = await vault.record('sealed-log')
    const record = kept === undefined ? undefined : decodeRecord(kept.bytes)
    const newest = record?.generation === generation ? sealedPartOf(record).size : 0
    if (leavesAt(newest) <= leavesAt(sealed)) return undefined
    sealed = newest
  }
}

/** Position of the first event of a tile, in a stored block. */
export function positionIn(block: Buffer, leaf: number): Position {
  const part = Math.floor((leaf % blockLeaves) / tileWidth) * partBytes
  if (block.length < part + positionBytes) return startOfLog
  return { commit: block.readBigUInt64BE(part), prepare: block.readBigUInt64BE(part + 8) }
}

/** Leaves of a stored block whose event may have the id. Usually one or none. */
export function leavesIn(block: Buffer, id: string): readonly number[] {
  const suffix = suffixOf(id)
  const leaves: number[] = []
  for (let at = block.indexOf(suffix); at !== -1; at = block.indexOf(suffix, at + 1)) {
    const within = (at % partBytes) - positionBytes
    if (within >= 0 && within % idBytes === 0) leaves.push(Math.floor(at / partBytes) * tileWidth + within / idBytes)
  }
  return leaves
}

function suffixOf(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', '').slice(-idBytes * 2), 'hex')
}

import { rootOf, type Hash } from './merkle.ts'
import { hashesAt, hashesOf, partialTiles, tileWidth, type ReadTile, type Tile } from './tiles.ts'

export interface FilledTile extends Tile {
  readonly level: number
  readonly bytes: Buffer
}

/**
 * A tree to which leaves are added. It keeps the unfinished tile of each level only, so its memory does not grow with
 * the tree.
 */
export class GrowingTree {
  #size: number
  /** By level: the hashes of its last tile while it is not full. */
  readonly #edge: Hash[][]

  private constructor(size: number, edge: Hash[][]) {
    this.#size = size
    this.#edge = edge
  }

  static empty(): GrowingTree {
    return new GrowingTree(0, [])
  }

  /** The tree of that size, from its partial tiles. */
  static async of(size: number, readTile: ReadTile): Promise<GrowingTree> {
    const edge: Hash[][] = []
    for (let level = 0; hashesAt(level, size) > 0; level += 1) edge.push([])
    await Promise.all(
      partialTiles(size).map(async (tile) => {
        edge[Number(tile.level)] = hashesOf(await readTile(tile))
      }),
    )
    return new GrowingTree(size, edge)
  }

  get size(): number {
    return this.#size
  }

  /** Adds a leaf, and returns the tiles that it fills. */
  add(leaf: Hash): readonly FilledTile[] {
    const filled: FilledTile[] = []
    this.#size += 1
    let hash = leaf
    for (let level = 0; ; level += 1) {
      const row = (this.#edge[level] ??= [])
      row.push(hash)
      if (row.length < tileWidth) return filled
      const index = Math.floor(hashesAt(level, this.#size) / tileWidth) - 1
      filled.push({ level, index, width: tileWidth, bytes: Buffer.concat(row) })
      hash = rootOf(row)
      this.#edge[level] = []
    }
  }

  /** The unfinished tiles at the right edge. */
  partial(): readonly FilledTile[] {
    return this.#edge.flatMap((row, level) => {
      if (row.length === 0) return []
      const index = Math.floor(hashesAt(level, this.#size) / tileWidth)
      return [{ level, index, width: row.length, bytes: Buffer.concat(row) }]
    })
  }

  root(): Hash {
    let below: Hash | undefined
    for (const row of this.#edge) {
      const hashes = below === undefined ? row : [...row, below]
      if (hashes.length > 0) below = rootOf(hashes)
    }
    return below ?? rootOf([])
  }
}

import { GrowingTree, type FilledTile } from '../../platform/transparency-log/growing-tree.ts'
import { hashBytes, type Hash } from '../../platform/transparency-log/merkle.ts'
import {
  hashesOf,
  tileAt,
  TileError,
  tilePath,
  tileWidth,
  type ReadTile,
  type Tile,
} from '../../platform/transparency-log/tiles.ts'

/** A hash in a tile above level 0 that does not fit the tile below it. */
export interface TileMismatch {
  readonly level: number
  /** Number of the tile below, at its level. */
  readonly child: number
}

/** The leaves of a log in their order, from its tiles. Compares the tiles above with those below. */
export class LeafReader {
  readonly mismatches: TileMismatch[] = []
  readonly missing: Tile[] = []
  readonly #size: number
  readonly #readTile: ReadTile
  readonly #tree: GrowingTree
  readonly #onLeaf: (tree: GrowingTree) => Promise<void> | void

  private constructor(
    size: number,
    readTile: ReadTile,
    tree: GrowingTree,
    onLeaf: (tree: GrowingTree) => Promise<void> | void,
  ) {
    this.#size = size
    this.#readTile = readTile
    this.#tree = tree
    this.#onLeaf = onLeaf
  }

  /** `onLeaf` gets the tree after each leaf. */
  static async from(
    first: number,
    {
      size,
      readTile,
      onLeaf,
    }: { size: number; readTile: ReadTile; onLeaf: (tree: GrowingTree) => Promise<void> | void },
  ): Promise<LeafReader> {
    return new LeafReader(size, readTile, await GrowingTree.of(first, readTile), onLeaf)
  }

  get tree(): GrowingTree {
    return this.#tree
  }

  get hasMore(): boolean {
    return this.#tree.size < this.#size
  }

  /** The leaves up to the end of the next tile. A missing tile ends the log here. */
  async next(): Promise<readonly Hash[]> {
    const from = this.#tree.size
    const index = Math.floor(from / tileWidth)
    const tile = tileAt(0, index, this.#size)
    if (tile === undefined) return []
    const leaves = hashesOf(await this.#bytes(tile)).slice(from - index * tileWidth)
    for (const leaf of leaves) {
      for (const filled of this.#tree.add(leaf)) if (filled.level > 0) await this.#compare(filled)
      const seen = this.#onLeaf(this.#tree)
      if (seen !== undefined) await seen
    }
    if (!this.hasMore) for (const partial of this.#tree.partial()) if (partial.level > 0) await this.#compare(partial)
    return leaves
  }

  async #compare(computed: FilledTile): Promise<void> {
    const stored = await this.#bytes(computed)
    for (let at = 0; at < computed.width; at += 1) {
      const [from, to] = [at * hashBytes, (at + 1) * hashBytes]
      if (!computed.bytes.subarray(from, to).equals(stored.subarray(from, to)))
        this.mismatches.push({ level: computed.level, child: computed.index * tileWidth + at })
    }
  }

  async #bytes(tile: Tile): Promise<Uint8Array> {
    try {
      return await this.#readTile(tile)
    } catch (error) {
      if (!(error instanceof TileError)) throw error
      this.missing.push(tile)
      return Buffer.alloc(tile.width * hashBytes)
    }
  }
}

/** Path of the tile that contains a hash over a tile below. */
export function pathOfParent({ level, child }: TileMismatch, size: number): string {
  const tile = tileAt(level, Math.floor(child / tileWidth), size)
  return tile === undefined ? '' : tilePath(tile)
}

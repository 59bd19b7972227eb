import { emptyRoot, nodeHash, rootOf, type Hash } from './merkle.ts'
import { hashesAt, hashesOf, partialTiles, tileHeight, tileWidth, type ReadTile, type Tile } from './tiles.ts'

export interface FilledTile extends Tile {
  readonly level: number
  readonly bytes: Buffer
}

interface Subtree {
  readonly height: number
  readonly root: Hash
}

/**
 * A tree to which leaves are added. It keeps its largest full subtrees and the unfinished tile of each level, so its
 * memory does not grow with the tree.
 */
export class GrowingTree {
  #size: number
  /** By level: the hashes of its last tile while it is not full. */
  readonly #rows: Hash[][]
  /** From left to right, so the smallest one is the last. */
  readonly #subtrees: Subtree[]

  private constructor(size: number, rows: Hash[][]) {
    this.#size = size
    this.#rows = rows
    this.#subtrees = rows.flatMap((row, level) => subtreesOf(row, level)).toSorted((a, b) => b.height - a.height)
  }

  static empty(): GrowingTree {
    return new GrowingTree(0, [])
  }

  /** The tree of that size, from its partial tiles. */
  static async of(size: number, readTile: ReadTile): Promise<GrowingTree> {
    const rows: Hash[][] = []
    for (let level = 0; hashesAt(level, size) > 0; level += 1) rows.push([])
    await Promise.all(
      partialTiles(size).map(async (tile) => {
        rows[Number(tile.level)] = hashesOf(await readTile(tile))
      }),
    )
    return new GrowingTree(size, rows)
  }

  get size(): number {
    return this.#size
  }

  /** Adds a leaf, and returns the tiles that it fills. */
  add(leaf: Hash): readonly FilledTile[] {
    this.#size += 1
    const filled: FilledTile[] = []
    let added: Subtree = { height: 0, root: leaf }
    this.#toRow(added, filled)
    for (let last = this.#subtrees.at(-1); last?.height === added.height; last = this.#subtrees.at(-1)) {
      this.#subtrees.pop()
      added = { height: added.height + 1, root: nodeHash(last.root, added.root) }
      if (added.height % tileHeight === 0) this.#toRow(added, filled)
    }
    this.#subtrees.push(added)
    return filled
  }

  /** The unfinished tiles at the right edge. */
  partial(): readonly FilledTile[] {
    return this.#rows.flatMap((row, level) => {
      if (row.length === 0) return []
      const index = Math.floor(hashesAt(level, this.#size) / tileWidth)
      return [{ level, index, width: row.length, bytes: Buffer.concat(row) }]
    })
  }

  root(): Hash {
    const [last, ...larger] = this.#subtrees.toReversed()
    return larger.reduce((right, { root }) => nodeHash(root, right), last?.root ?? emptyRoot)
  }

  #toRow({ height, root }: Subtree, filled: FilledTile[]): void {
    const level = height / tileHeight
    const row = (this.#rows[level] ??= [])
    row.push(root)
    if (row.length < tileWidth) return
    const index = Math.floor(hashesAt(level, this.#size) / tileWidth) - 1
    filled.push({ level, index, width: tileWidth, bytes: Buffer.concat(row) })
    this.#rows[level] = []
  }
}

/** The largest full subtrees over the hashes of an unfinished tile. */
function subtreesOf(row: readonly Hash[], level: number): readonly Subtree[] {
  const subtrees: Subtree[] = []
  for (let height = tileHeight - 1, at = 0; height >= 0; height -= 1) {
    const count = 2 ** height
    if (row.length - at < count) continue
    subtrees.push({ height: level * tileHeight + height, root: rootOf(row.slice(at, at + count)) })
    at += count
  }
  return subtrees
}

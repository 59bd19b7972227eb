import { hashBytes, rootOf, splitOf, type Hash } from './merkle.ts'

/** Hashes of a full tile. */
export const tileWidth = 256
/** Rows of the tree in a tile. */
export const tileHeight = 8

/** A tile of C2SP tlog-tiles: hashes of leaves at level 0, hashes of full tiles of the level below otherwise. */
export interface Tile {
  readonly level: number | 'entries'
  readonly index: number
  /** Number of hashes, or of entries: 256, or fewer at the right edge of the tree. */
  readonly width: number
}

/** Path of a tile: `tile/0/x001/x234/067`, with `.p/5` behind it if it is partial. */
export function tilePath({ level, index, width }: Tile): string {
  return `tile/${level}/${numberPath(index)}${width === tileWidth ? '' : `.p/${width}`}`
}

/** A number in elements of three digits. All but the last one begin with `x`. */
export function numberPath(index: number): string {
  const digits = String(index)
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? []
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/')
}

const pathForm = /^tile\/(entries|\d{1,2})\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/

/** Reverses `tilePath`. Undefined for any other text. */
export function parseTilePath(path: string): Tile | undefined {
  const [, level = '', digits = '', width = String(tileWidth)] = pathForm.exec(path) ?? []
  const tile: Tile = {
    level: level === 'entries' ? level : Number(level),
    index: Number(digits.replace(/[x/]/g, '')),
    width: Number(width),
  }
  return tilePath(tile) === path && tile.width <= tileWidth && (level === 'entries' || Number(level) < 64)
    ? tile
    : undefined
}

/** How many hashes of a level a tree of that size has. */
export function hashesAt(level: number, size: number): number {
  return Math.floor(size / tileWidth ** level)
}

/** The tile at an index of a level, as wide as the tree has it. Undefined if the tree has none there. */
export function tileAt(level: number, index: number, size: number): Tile | undefined {
  const width = Math.min(hashesAt(level, size) - index * tileWidth, tileWidth)
  return width > 0 ? { level, index, width } : undefined
}

/** The last tile of each level, from level 0 on. Those that are full belong to the list of their level too. */
export function partialTiles(size: number): readonly Tile[] {
  const tiles: Tile[] = []
  for (let level = 0; hashesAt(level, size) > 0; level += 1) {
    const width = hashesAt(level, size) % tileWidth
    if (width > 0) tiles.push({ level, index: Math.floor(hashesAt(level, size) / tileWidth), width })
  }
  return tiles
}

export function hashesOf(bytes: Uint8Array): Hash[] {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: Math.floor(all.length / hashBytes) }, (_, at) =>
    all.subarray(at * hashBytes, (at + 1) * hashBytes),
  )
}

export type ReadTile = (tile: Tile) => Promise<Uint8Array>

/** A tile that is missing, or has another length than its path names. */
export class TileError extends Error {
  override readonly name = 'TileError'
  readonly tile: Tile

  constructor(tile: Tile, options?: ErrorOptions) {
    super(`the tile ${tilePath(tile)} is missing or has a wrong length`, options)
    this.tile = tile
  }
}

/** A tree of a fixed size. Roots and proofs are computed from its tiles. Each tile is read once. */
export class TileTree {
  readonly size: number
  readonly #readTile: ReadTile
  readonly #read = new Map<string, Promise<readonly Hash[]>>()

  constructor(size: number, readTile: ReadTile) {
    this.size = size
    this.#readTile = readTile
  }

  root(): Promise<Hash> {
    return this.size === 0 ? Promise.resolve(rootOf([])) : this.#rangeRoot(0, this.size)
  }

  async leaf(index: number): Promise<Hash> {
    return this.#rangeRoot(index, index + 1)
  }

  /** From the sibling of the leaf up to the child of the root. */
  inclusionProof(index: number): Promise<readonly Hash[]> {
    if (index >= this.size) throw new RangeError('the tree has no such leaf')
    const siblings: Promise<Hash>[] = []
    let [low, high] = [0, this.size]
    while (high - low > 1) {
      const middle = low + splitOf(high - low)
      siblings.push(index < middle ? this.#rangeRoot(middle, high) : this.#rangeRoot(low, middle))
      if (index < middle) high = middle
      else low = middle
    }
    return Promise.all(siblings.toReversed())
  }

  /** Shows that this tree begins with the tree of the smaller size (RFC 6962, section 2.1.2). */
  consistencyProof(from: number): Promise<readonly Hash[]> {
    if (from > this.size) throw new RangeError('the tree is smaller')
    if (from === 0 || from === this.size) return Promise.resolve([])
    const hashes: Promise<Hash>[] = []
    let [low, high] = [0, this.size]
    while (from !== high) {
      const middle = low + splitOf(high - low)
      hashes.push(from <= middle ? this.#rangeRoot(middle, high) : this.#rangeRoot(low, middle))
      if (from <= middle) high = middle
      else low = middle
    }
    // A verifier knows the root of the older tree itself.
    if (low > 0) hashes.push(this.#rangeRoot(low, high))
    return Promise.all(hashes.toReversed())
  }

  async #rangeRoot(low: number, high: number): Promise<Hash> {
    const count = high - low
    const split = splitOf(count)
    if (count > 1 && split * 2 !== count) {
      return rootOf(await Promise.all([this.#rangeRoot(low, low + split), this.#rangeRoot(low + split, high)]))
    }
    let [level, stride] = [0, 1]
    while (stride * tileWidth <= count) [level, stride] = [level + 1, stride * tileWidth]
    const first = low / stride
    const hashes = await this.#hashes(level, Math.floor(first / tileWidth))
    return rootOf(hashes.slice(first % tileWidth, (first % tileWidth) + count / stride))
  }

  #hashes(level: number, index: number): Promise<readonly Hash[]> {
    const tile = tileAt(level, index, this.size)
    if (tile === undefined) throw new RangeError('the tree has no such tile')
    const path = tilePath(tile)
    const known = this.#read.get(path)
    if (known !== undefined) return known
    const read = this.#readTile(tile).then((bytes) => {
      const hashes = hashesOf(bytes)
      if (bytes.length !== tile.width * hashBytes) throw new TileError(tile)
      return hashes
    })
    this.#read.set(path, read)
    return read
  }
}

/** Entries with their lengths, as a bundle of C2SP tlog-tiles. */
export function entryBundle(entries: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    entries.flatMap((entry) => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(entry.length)
      return [length, entry]
    }),
  )
}

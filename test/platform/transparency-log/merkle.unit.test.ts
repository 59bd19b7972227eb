import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { GrowingTree } from '../../../platform/transparency-log/growing-tree.ts'
import {
  emptyRoot,
  isConsistent,
  isIncluded,
  leafHash,
  rootOf,
  type Hash,
} from '../../../platform/transparency-log/merkle.ts'
import {
  entryBundle,
  numberPath,
  parseTilePath,
  partialTiles,
  TileError,
  tilePath,
  TileTree,
  type Tile,
} from '../../../platform/transparency-log/tiles.ts'
import { entryOfVectors, vectors } from './go-vectors.ts'

const size = 70_000
const stored = new Map<string, Buffer>()
const roots = new Map<number, string>()
const grown = GrowingTree.empty()
for (let index = 0; index < size; index += 1) {
  for (const tile of grown.add(leafHash(entryOfVectors(index)))) stored.set(tilePath(tile), tile.bytes)
  if (String(index + 1) in vectors.roots) {
    roots.set(index + 1, grown.root().toString('base64'))
    for (const tile of grown.partial()) stored.set(tilePath(tile), tile.bytes)
  }
}

const readTile = async (tile: Tile): Promise<Buffer> => {
  // A partial tile may be gone when the full one is there.
  const bytes =
    stored.get(tilePath(tile)) ?? stored.get(tilePath({ ...tile, width: 256 }))?.subarray(0, tile.width * 32)
  if (bytes === undefined) throw new TileError(tile)
  return bytes
}
const treeOf = (of: number) => new TileTree(of, readTile)
const base64 = (hashes: readonly Hash[]) => hashes.map((hash) => hash.toString('base64'))

test('has the roots of the reference implementation of RFC 6962', () => {
  const leaves = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
  const hashes = leaves.map((hex) => leafHash(Buffer.from(hex, 'hex')))
  expect(emptyRoot.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  expect([1, 2, 3, 4, 5, 6, 7, 8].map((count) => rootOf(hashes.slice(0, count)).toString('hex'))).toEqual([
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ])
})

test('has the roots of golang.org/x/mod/sumdb/tlog at every size', async () => {
  expect(Object.fromEntries(roots)).toEqual(vectors.roots)
  for (const of of roots.keys()) expect((await treeOf(of).root()).toString('base64')).toBe(vectors.roots[of])
})

test('writes the tiles of Go, by name and content', () => {
  const all = [...grown.partial()].map(({ level, index }) => `tile/${level}/${numberPath(index)}`)
  expect(all).toEqual(['tile/0/273', 'tile/1/001', 'tile/2/000'])
  const final = Array.from({ length: 273 }, (_, index) => tilePath({ level: 0, index, width: 256 }))
  const paths = [...final, 'tile/0/273.p/112', 'tile/1/000', 'tile/1/001.p/17', 'tile/2/000.p/1']
  const hash = createHash('sha256')
  for (const path of paths) hash.update(`${path}\n`).update(stored.get(path) ?? '')
  expect({ size, count: paths.length, sha256: hash.digest('hex') }).toEqual(vectors.tiles)
})

test('makes the proofs of Go from tiles, and accepts them', async () => {
  for (const { index, size: of, proof } of vectors.inclusion) {
    const made = await treeOf(of).inclusionProof(index)
    expect(base64(made)).toEqual(proof)
    const root = await treeOf(of).root()
    expect(isIncluded(leafHash(entryOfVectors(index)), { index, size: of, proof: made }, root)).toBe(true)
  }
  for (const { from, to, proof } of vectors.consistency) {
    const made = await treeOf(to).consistencyProof(from)
    expect(base64(made)).toEqual(proof)
    const [older, newer] = [await treeOf(from).root(), await treeOf(to).root()]
    expect(isConsistent({ size: from, root: older }, { size: to, root: newer }, made)).toBe(true)
  }
})

test('proves every leaf and every older tree of small trees, and accepts nothing altered', async () => {
  const leaves = Array.from({ length: 20 }, (_, index) => leafHash(entryOfVectors(index)))
  const small = (of: number) => new TileTree(of, async ({ width }) => Buffer.concat(leaves.slice(0, width)))
  for (let of = 1; of <= leaves.length; of += 1) {
    const root = await small(of).root()
    for (let index = 0; index < of; index += 1) {
      const proof = await small(of).inclusionProof(index)
      const leaf = await small(of).leaf(index)
      expect(isIncluded(leaf, { index, size: of, proof }, root)).toBe(true)
      expect(isIncluded(leaf, { index: index + 1, size: of, proof }, root)).toBe(false)
      expect(isIncluded(leaf, { index, size: of, proof: [...proof, root] }, root)).toBe(false)
      expect(isIncluded(leaf, { index, size: of, proof: proof.slice(1) }, root)).toBe(of === 1)
      expect(isIncluded(root, { index, size: of, proof }, root)).toBe(of === 1)
    }
    for (let from = 1; from <= of; from += 1) {
      const older = { size: from, root: await small(from).root() }
      const proof = await small(of).consistencyProof(from)
      expect(isConsistent(older, { size: of, root }, proof)).toBe(true)
      expect(isConsistent({ ...older, root: emptyRoot }, { size: of, root }, proof)).toBe(false)
      expect(isConsistent(older, { size: of, root: emptyRoot }, proof)).toBe(false)
      expect(isConsistent(older, { size: of, root }, [...proof, root])).toBe(false)
      expect(isConsistent(older, { size: of, root }, proof.slice(0, -1))).toBe(from === of)
    }
  }
  expect(isConsistent({ size: 0, root: emptyRoot }, { size: 3, root: await small(3).root() }, [])).toBe(true)
  expect(isConsistent({ size: 3, root: emptyRoot }, { size: 2, root: emptyRoot }, [])).toBe(false)
})

test('refuses a tile of another length, and places that the tree does not have', async () => {
  const short = new TileTree(300, async () => Buffer.alloc(31))
  await expect(short.root()).rejects.toThrow(TileError)
  expect(() => treeOf(7).inclusionProof(7)).toThrow(RangeError)
  expect(() => treeOf(7).consistencyProof(8)).toThrow(RangeError)
})

test('continues a tree from its partial tiles', async () => {
  for (const from of [0, 1, 255, 256, 257, 65_536, 65_537]) {
    const tree = await GrowingTree.of(from, readTile)
    for (let index = from; index < from + 300; index += 1) tree.add(leafHash(entryOfVectors(index)))
    const leaves = Array.from({ length: from + 300 }, (_, index) => leafHash(entryOfVectors(index)))
    expect(tree.root()).toEqual(rootOf(leaves))
  }
})

test.each([
  ['tile/0/000', { level: 0, index: 0, width: 256 }],
  ['tile/3/x001/x234/067', { level: 3, index: 1_234_067, width: 256 }],
  ['tile/0/x001/000.p/7', { level: 0, index: 1000, width: 7 }],
  ['tile/entries/999.p/255', { level: 'entries', index: 999, width: 255 }],
])('names a tile %s', (path, tile) => {
  const parsed = parseTilePath(path)
  expect(parsed).toEqual(tile)
  expect(parsed === undefined ? '' : tilePath(parsed)).toBe(path)
})

test.each([
  'tile/00/000',
  'tile/64/000',
  'tile/0/0',
  'tile/0/x000/000',
  'tile/0/x1/000',
  'tile/0/1000',
  'tile/0/000.p/0',
  'tile/0/000.p/256',
  'tile/0/000.p/007',
  'tile/8/0/000',
  'tile/0/000/',
  'checkpoint',
])('is not the path of a tile: %s', (path) => expect(parseTilePath(path)).toBeUndefined())

test('lists the partial tiles of a size', () => {
  expect(partialTiles(size).map(tilePath)).toEqual(['tile/0/273.p/112', 'tile/1/001.p/17', 'tile/2/000.p/1'])
  expect(partialTiles(256).map(tilePath)).toEqual(['tile/1/000.p/1'])
  expect(partialTiles(0)).toEqual([])
})

test('bundles entries with their lengths', () => {
  expect(entryBundle([Buffer.from('a'), Buffer.alloc(0), Buffer.alloc(258, 'b')]).toString('latin1')).toBe(
    `\0\x01a\0\0\x01\x02${'b'.repeat(258)}`,
  )
  expect(() => entryBundle([Buffer.alloc(65_536)])).toThrow(RangeError)
})

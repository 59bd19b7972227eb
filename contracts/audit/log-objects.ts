import { numberPath, TileError, tilePath, tileWidth, type Tile } from '../../platform/transparency-log/tiles.ts'
import { hashBytes } from '../../platform/transparency-log/merkle.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'

const contentType = 'application/octet-stream'

/** Where the objects of a log are in the object store: `log/`, and `log/2/` after an older log was accepted. */
export function logFolder(generation: number): string {
  return generation === 1 ? 'log/' : `log/${generation}/`
}

/** Reads the tiles of a log. A partial tile that is gone is the beginning of the full one. */
export function tileReader(objects: Pick<ObjectStore, 'read'>, generation: number) {
  const folder = logFolder(generation)
  return async (tile: Tile): Promise<Buffer> => {
    const exact = await bytesOf(objects, folder + tilePath(tile))
    const bytes = exact ?? (await bytesOf(objects, folder + tilePath({ ...tile, width: tileWidth })))
    const length = tile.width * hashBytes
    if (bytes === undefined || bytes.length < length || (exact !== undefined && exact.length !== length))
      throw new TileError(tile)
    return bytes.subarray(0, length)
  }
}

/** Leaves of one block of the index of events. */
export const blockLeaves = tileWidth ** 2

export function blockPath(block: number, leaves: number): string {
  return `index/${numberPath(block)}${leaves === blockLeaves ? '' : `.p/${leaves}`}`
}

/** Undefined if there is no object. @throws Problem `object-store-unavailable` */
export async function bytesOf(objects: Pick<ObjectStore, 'read'>, key: string): Promise<Buffer | undefined> {
  const found = await objects.read(key)
  if (found === undefined) return undefined
  const chunks: Buffer[] = []
  for await (const chunk of found.chunks) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export async function putObject(objects: Pick<ObjectStore, 'put'>, key: string, bytes: Uint8Array): Promise<void> {
  await objects.put(key, bytes, contentType)
}

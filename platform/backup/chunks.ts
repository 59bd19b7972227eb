import { createHash } from 'node:crypto'
import { SealedBytesError, type BackupKey } from './backup-keys.ts'
import type { BackupPlace } from './place.ts'

/** So much of a stream is in memory at a time. */
const chunkBytes = 4 * 1024 * 1024

/** A stream of bytes in a place: its length, its hash in hex, and the names of its chunks in order. */
export interface StoredStream {
  readonly bytes: number
  readonly sha256: string
  readonly chunks: string[]
}

export type ChunkFault = 'chunk-missing' | 'chunk-changed'

/** A chunk that is not what its name says. */
export class ChunkError extends Error {
  override readonly name = 'ChunkError'
  readonly code: ChunkFault
  readonly chunk: string

  constructor(code: ChunkFault, chunk: string, cause?: unknown) {
    super(`${code}: ${chunk}`, { cause })
    this.code = code
    this.chunk = chunk
  }
}

/** The chunks of one key. */
export class ChunkStore {
  readonly #place: BackupPlace
  readonly #key: BackupKey
  /** Bytes that the place did not have before. */
  writtenBytes = 0

  constructor(place: BackupPlace, key: BackupKey) {
    this.#place = place
    this.#key = key
  }

  /** Stores a stream. A chunk that the place has already is not written again. */
  async store(source: AsyncIterable<Uint8Array>): Promise<StoredStream> {
    const chunks: string[] = []
    const hash = createHash('sha256')
    let bytes = 0
    for await (const chunk of inChunks(source)) {
      const name = this.#key.nameOf(chunk)
      const file = chunkFile(this.#key.id, name)
      if (!(await this.#place.has(file))) {
        await this.#place.put(file, this.#key.seal(name, chunk))
        this.writtenBytes += chunk.length
      }
      hash.update(chunk)
      chunks.push(name)
      bytes += chunk.length
    }
    return { bytes, sha256: hash.digest('hex'), chunks }
  }

  /** @throws ChunkError */
  async *read({ chunks }: Pick<StoredStream, 'chunks'>): AsyncGenerator<Buffer, void, undefined> {
    for (const name of chunks) yield await this.readChunk(name)
  }

  /** @throws ChunkError */
  async readChunk(name: string): Promise<Buffer> {
    const file = chunkFile(this.#key.id, name)
    const sealed = await this.#place.get(file)
    if (sealed === undefined) throw new ChunkError('chunk-missing', file)
    try {
      return this.#key.open(name, sealed)
    } catch (error) {
      if (error instanceof SealedBytesError) throw new ChunkError('chunk-changed', file, error)
      throw error
    }
  }
}

export const chunkFolder = 'chunks'

export function chunkFile(keyId: string, name: string): string {
  return `${chunkFolder}/of-${keyId}/${name.slice(0, 2)}/${name}`
}

async function* inChunks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let parts: Uint8Array[] = []
  let length = 0
  for await (let rest of source) {
    while (length + rest.length >= chunkBytes) {
      const taken = chunkBytes - length
      yield Buffer.concat([...parts, rest.subarray(0, taken)])
      rest = rest.subarray(taken)
      parts = []
      length = 0
    }
    if (rest.length > 0) parts.push(rest)
    length += rest.length
  }
  if (length > 0) yield Buffer.concat(parts)
}

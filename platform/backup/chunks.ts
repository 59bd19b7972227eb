import { createHash, hash } from 'node:crypto'
import { nonceBytes, SealedBytesError, tagBytes, type BackupKey } from './backup-keys.ts'
import type { BackupPlace } from './place.ts'

/** So much of a stream is in memory at a time, and as much for each write. */
const chunkBytes = 4 * 1024 * 1024

/** Chunks of all streams that are written at a time. */
const writesAtOnce = 4

/** A stream of bytes in a place: its length, and the names of its chunks in order. */
export interface StoredStream {
  readonly bytes: number
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
  readonly #writing = new Set<Promise<void>>()
  /** Buffers that were used: new ones of this size cost more than what is done with them. */
  readonly #free: Buffer[] = []
  /** Bytes that the place did not have before. */
  writtenBytes = 0

  constructor(place: BackupPlace, key: BackupKey) {
    this.#place = place
    this.#key = key
  }

  /**
   * Stores a stream. A chunk that the place has already is not written again. While chunks are written, the next ones are
   * hashed and sealed.
   */
  async store(source: AsyncIterable<Uint8Array>): Promise<StoredStream> {
    const chunks: string[] = []
    const writes: Promise<void>[] = []
    let bytes = 0
    for await (const room of this.#inRooms(source)) {
      const chunk = room.subarray(nonceBytes, -tagBytes)
      const name = this.#key.nameOf(hash('sha256', chunk, 'buffer'))
      while (this.#writing.size >= writesAtOnce) await Promise.race(this.#writing)
      writes.push(this.#put(name, room))
      chunks.push(name)
      bytes += chunk.length
    }
    await Promise.all(writes)
    return { bytes, chunks }
  }

  /** The same, with the SHA-256 of the whole stream in hex. */
  async storeHashed(source: AsyncIterable<Uint8Array>): Promise<StoredStream & { readonly sha256: string }> {
    const whole = createHash('sha256')
    async function* hashed(): AsyncGenerator<Uint8Array, void, undefined> {
      for await (const bytes of source) {
        whole.update(bytes)
        yield bytes
      }
    }
    const stored = await this.store(hashed())
    return { ...stored, sha256: whole.digest('hex') }
  }

  /** Chunks of a stream, each with room for what its seal adds. */
  async *#inRooms(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
    let room: Buffer | undefined
    let end = nonceBytes
    for await (let rest of source) {
      while (rest.length > 0) {
        room ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(nonceBytes + chunkBytes + tagBytes)
        const taken = rest.subarray(0, nonceBytes + chunkBytes - end)
        room.set(taken, end)
        end += taken.length
        rest = rest.subarray(taken.length)
        if (end < nonceBytes + chunkBytes) break
        yield room
        room = undefined
        end = nonceBytes
      }
    }
    if (room !== undefined) yield room.subarray(0, end + tagBytes)
  }

  #put(name: string, room: Buffer): Promise<void> {
    const file = chunkFile(this.#key.id, name)
    const put = async (): Promise<void> => {
      if (!(await this.#place.has(file))) {
        this.#key.sealInPlace(name, room)
        await this.#place.put(file, room)
        this.writtenBytes += room.length - nonceBytes - tagBytes
      }
      this.#free.push(Buffer.from(room.buffer))
    }
    const writing = put()
    // A failure is awaited with the stream, and must not end the process before.
    const ended: Promise<void> = writing.catch(() => undefined).finally(() => this.#writing.delete(ended))
    this.#writing.add(ended)
    return writing
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

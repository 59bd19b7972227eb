import type { InlineSinks } from '../../platform/http/inline-body-parser.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import type { StoredBytes } from '../../platform/storage/stream-upload.ts'
import { problem } from '../../platform/http/problems.ts'
import { createBase64Decoder } from './base64-decoding.ts'
import { maxImages } from './bodies.ts'
import { inspectImage, limits, type InspectedImage } from './image-checks.ts'
import { removeUnnamed } from './unnamed-objects.ts'

const MiB = 1024 * 1024
/** Bytes in memory for all images of a request. A request below this stores no pieces, only its images. */
const mostKept = MiB
const pieceBytes = 2 * MiB
const firstRoom = 64 * 1024
const nothing: Buffer = Buffer.alloc(0)

/** The bytes of one image of a request, until the request is refused or recorded. */
export interface StagedImage {
  /** Number of bytes that its text encodes, also if it is not base64. */
  size(): number
  isBase64(): boolean
  /** To be called once. The result has no meaning if the text is not base64, or the images are too large. */
  inspect(mimeType: string): InspectedImage
  /** Stores it permanently. @throws Problem `object-store-unavailable` */
  store(key: string, inspected: InspectedImage, mimeType: string): Promise<StoredBytes>
}

/** The images of one request. */
export interface StagedImages extends InlineSinks {
  /** Undefined if the image at that place has no data. */
  at(index: number): StagedImage | undefined
}

export interface Staging {
  readonly objects: Pick<ObjectStore, 'put' | 'putStream' | 'read' | 'remove'>
  readonly randomPart: () => string
}

/**
 * Decodes, hashes and measures images while their base64 arrives. Small images stay in memory. Larger ones go to the
 * object store in pieces, because a store needs the length of an object first, and base64 in JSON does not contain it.
 * Images over a limit are counted only.
 */
export function stageImages({ objects, randomPart }: Staging): StagedImages {
  const images = new Map<number, OpenImage>()
  /** If the text is not JSON, the same place may begin more than once. */
  const opened: OpenImage[] = []
  const shared: Shared = { keptBytes: 0, totalBytes: 0 }
  // The embedded object store keeps the folders of objects that were removed, so a request has none of its own.
  const request = `staging/${randomPart()}`
  let current: OpenImage | undefined
  return {
    begin(index) {
      current = index < maxImages ? openImage(objects, `${request}-${opened.length}`, shared) : undefined
      if (current === undefined) return
      opened.push(current)
      images.set(index, current)
    },
    write: async (text) => current?.write(text),
    end: async () => current?.end(),
    at: (index) => images.get(index),
    async discard() {
      await Promise.all(opened.map((image) => image.discard()))
    },
  }
}

/** Totals over all images of a request. */
interface Shared {
  keptBytes: number
  totalBytes: number
}

interface OpenImage extends StagedImage {
  write(text: Buffer): Promise<void>
  end(): Promise<void>
  discard(): Promise<void>
}

function openImage(objects: Staging['objects'], name: string, shared: Shared): OpenImage {
  const decoder = createBase64Decoder()
  const inspection = inspectImage()
  const pieces: string[] = []
  /** The bytes that are in no piece. They are the whole image while its state is `kept`. */
  let held = nothing
  let heldBytes = 0
  let state: 'kept' | 'in-pieces' | 'given-up' = 'kept'
  let failure: unknown

  function giveUp(): void {
    if (state === 'kept') shared.keptBytes -= heldBytes
    state = 'given-up'
    held = nothing
    heldBytes = 0
  }

  /** Checked after every wait, because the request may have been discarded meanwhile. */
  function isGivenUp(): boolean {
    return state === 'given-up'
  }

  function makeRoom(bytes: number, most: number): void {
    if (held.length >= bytes) return
    const larger = Buffer.allocUnsafe(Math.min(most, Math.max(bytes, firstRoom, held.length * 2)))
    held.copy(larger, 0, 0, heldBytes)
    held = larger
  }

  async function addPiece(): Promise<void> {
    const key = `${name}-${pieces.length}`
    pieces.push(key)
    try {
      await objects.put(key, held.subarray(0, heldBytes), 'application/octet-stream')
    } catch (error) {
      failure = error
      throw error
    }
    heldBytes = 0
    // The pieces may have been removed before this one was stored.
    if (isGivenUp()) await Promise.allSettled([objects.remove(key)])
  }

  async function hold(bytes: Buffer): Promise<void> {
    if (state === 'kept' && shared.keptBytes + bytes.length <= mostKept) {
      makeRoom(heldBytes + bytes.length, mostKept)
      shared.keptBytes += bytes.length
    } else {
      if (state === 'kept') shared.keptBytes -= heldBytes
      state = 'in-pieces'
      makeRoom(pieceBytes, pieceBytes)
    }
    for (let from = 0; from < bytes.length;) {
      if (heldBytes === pieceBytes) await addPiece()
      if (isGivenUp()) return
      const copied = bytes.copy(held, heldBytes, from)
      heldBytes += copied
      from += copied
    }
  }

  async function* chunks(): AsyncGenerator<Buffer> {
    for (const key of pieces) {
      const piece = await objects.read(key)
      if (piece === undefined) throw problem('object-store-unavailable', { retryAfterSeconds: 2 })
      yield* piece.chunks
    }
  }

  return {
    async write(text) {
      const before = decoder.size()
      const bytes = decoder.push(text)
      shared.totalBytes += decoder.size() - before
      if (decoder.size() > limits.imageBytes || shared.totalBytes > limits.totalBytes) giveUp()
      if (state === 'given-up' || bytes.length === 0) return
      inspection.push(bytes)
      await hold(bytes)
    },
    async end() {
      if (state !== 'in-pieces') return
      await addPiece()
      held = nothing
    },
    size: () => decoder.size(),
    isBase64: () => decoder.isBase64(),
    inspect: (mimeType) => inspection.end(mimeType),
    async store(key, { bytes, sha256 }, mimeType) {
      if (state === 'given-up') throw problem('internal-error')
      if (state === 'kept') return objects.put(key, held.subarray(0, heldBytes), mimeType)
      return objects.putStream(key, chunks, { bytes, sha256 }, mimeType)
    },
    async discard() {
      giveUp()
      await removeUnnamed(objects, pieces.splice(0), failure)
    },
  }
}

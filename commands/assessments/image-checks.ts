import { createHash } from 'node:crypto'
import type { MemberError } from '../../platform/http/problems.ts'
import { createImageHead } from './image-head.ts'

const MiB = 1024 * 1024
export const limits = { imageBytes: 20 * MiB, totalBytes: 45 * MiB, pixels: 64_000_000 }

/** By media type: the first bytes of such a file. */
const accepted: ReadonlyMap<string, Buffer> = new Map([
  ['image/jpeg', Buffer.from([0xff, 0xd8, 0xff])],
  ['image/png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
])
const longestMagic = 8

/**
 * Media types are case-insensitive (RFC 9110, 8.3.1). The declared spelling is kept: an upload address is signed for
 * it.
 */
function acceptedMagic(mimeType: string) {
  return accepted.get(mimeType.toLowerCase())
}

/** Properties of an image, from its bytes. */
export interface InspectedImage {
  readonly sha256: string
  readonly bytes: number
  /** Whether its first bytes are those of the type. */
  readonly isOfType: boolean
  /** Pixels. Null if the header does not contain them. */
  readonly width: number | null
  readonly height: number | null
}

/** Inspects an image from a stream of its bytes. Keeps only its head in memory. */
export interface ImageInspection {
  push(chunk: Buffer): void
  /** To be called once, after the last chunk, with the declared type. */
  end(mimeType: string): InspectedImage
}

export function inspectImage(): ImageInspection {
  const hash = createHash('sha256')
  const head = createImageHead()
  let first = Buffer.alloc(0)
  let bytes = 0
  return {
    push(chunk) {
      hash.update(chunk)
      head.push(chunk)
      bytes += chunk.length
      if (first.length < longestMagic) first = Buffer.concat([first, chunk.subarray(0, longestMagic)])
    },
    end(mimeType) {
      const expected = acceptedMagic(mimeType)
      const isOfType = expected?.equals(first.subarray(0, expected.length)) === true
      const size = isOfType ? head.dimensions() : null
      return { sha256: hash.digest('hex'), bytes, isOfType, width: size?.width ?? null, height: size?.height ?? null }
    },
  }
}

/** The error of a declared type other than JPEG and PNG. The pointer is that of the declaration. */
export function declaredTypeErrors({ mime_type }: { readonly mime_type: string }, pointer: string): MemberError[] {
  if (acceptedMagic(mime_type) !== undefined) return []
  return [{ pointer: `${pointer}/mime_type`, detail: 'must be image/jpeg or image/png', code: 'enum' }]
}

/** Errors of the bytes: not the declared type, no pixels, or no dimensions where they are required. */
export function contentErrors(image: InspectedImage, pointer: string, requiresDimensions: boolean): MemberError[] {
  if (!image.isOfType) return [{ pointer, detail: 'is not an image of the declared mime_type', code: 'image-type' }]
  if (image.width === 0 || image.height === 0) return [{ pointer, detail: 'has no pixels', code: 'image-dimensions' }]
  if (!requiresDimensions || image.width !== null) return []
  return [{ pointer, detail: 'does not contain the dimensions of the image', code: 'image-dimensions' }]
}

export function sizeErrors(bytes: number, pointer: string): MemberError[] {
  return bytes > limits.imageBytes ? [{ pointer, detail: 'must not exceed 20 MiB', code: 'too-large' }] : []
}

export function pixelErrors({ width, height }: InspectedImage, pointer: string): MemberError[] {
  if ((width ?? 0) * (height ?? 0) <= limits.pixels) return []
  return [{ pointer, detail: 'must not exceed 64 megapixels', code: 'too-many-pixels' }]
}

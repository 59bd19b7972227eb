import { createHash } from 'node:crypto'
import type { MemberError } from '../../platform/http/problems.ts'
import { createImageHead } from './image-head.ts'

const MiB = 1024 * 1024
export const limits = { imageBytes: 20 * MiB, totalBytes: 45 * MiB, pixels: 64_000_000 }

/** By media type: how `image-size` names it, and the bytes that such a file begins with. */
const accepted: ReadonlyMap<string, { readonly type: string; readonly magic: Buffer }> = new Map([
  ['image/jpeg', { type: 'jpg', magic: Buffer.from([0xff, 0xd8, 0xff]) }],
  ['image/png', { type: 'png', magic: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) }],
])
const longestMagic = 8

/** Names of media types have no case (RFC 9110, 8.3.1). The declared spelling is kept: an upload address is signed for it. */
function acceptedType(mimeType: string) {
  return accepted.get(mimeType.toLowerCase())
}

/** What the bytes of an image say of it. */
export interface InspectedImage {
  readonly sha256: string
  readonly bytes: number
  /** Whether it begins as a file of the type does. */
  readonly isOfType: boolean
  /** Pixels; null where the header does not name them. */
  readonly width: number | null
  readonly height: number | null
}

/** Inspects an image while its bytes pass by; keeps no more than its head. */
export interface ImageInspection {
  push(chunk: Buffer): void
  /** Once, after the last chunk; judged by the type that it should have. */
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
      const expected = acceptedType(mimeType)
      const isOfType = expected?.magic.equals(first.subarray(0, expected.magic.length)) === true
      // Only what begins as the type does is handed to the parser of headers.
      const size = expected !== undefined && isOfType ? head.measure(expected.type) : null
      return { sha256: hash.digest('hex'), bytes, isOfType, width: size?.width ?? null, height: size?.height ?? null }
    },
  }
}

/** Why a declaration, which stands at the pointer, is not taken: JPEG and PNG are. */
export function declaredTypeErrors({ mime_type }: { readonly mime_type: string }, pointer: string): MemberError[] {
  if (acceptedType(mime_type) !== undefined) return []
  return [{ pointer: `${pointer}/mime_type`, detail: 'must be image/jpeg or image/png', code: 'enum' }]
}

/** Why the bytes are not taken: another type than the declared one, no pixels, or (where they are required) no dimensions. */
export function contentErrors(image: InspectedImage, pointer: string, requiresDimensions: boolean): MemberError[] {
  if (!image.isOfType) return [{ pointer, detail: 'is not an image of the declared mime_type', code: 'image-type' }]
  if (image.width === 0 || image.height === 0) return [{ pointer, detail: 'has no pixels', code: 'image-dimensions' }]
  if (!requiresDimensions || image.width !== null) return []
  return [{ pointer, detail: 'does not say how large the image is', code: 'image-dimensions' }]
}

export function sizeErrors(bytes: number, pointer: string): MemberError[] {
  return bytes > limits.imageBytes ? [{ pointer, detail: 'must not exceed 20 MiB', code: 'too-large' }] : []
}

export function pixelErrors({ width, height }: InspectedImage, pointer: string): MemberError[] {
  if ((width ?? 0) * (height ?? 0) <= limits.pixels) return []
  return [{ pointer, detail: 'must not exceed 64 megapixels', code: 'too-many-pixels' }]
}

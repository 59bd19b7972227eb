import { createHash } from 'node:crypto'
import { imageSize } from 'image-size'
import { problem, type MemberError } from '../../platform/problems.ts'
import type { CreateAssessmentBody } from './bodies.ts'

type DeclaredImage = CreateAssessmentBody['images'][number]

export interface DecodedImage {
  readonly captureType: DeclaredImage['capture_type']
  readonly mimeType: string
  readonly bytes: Buffer
  readonly sha256: string
  readonly width: number | null
  readonly height: number | null
}

const MiB = 1024 * 1024
const limits = { imageBytes: 20 * MiB, totalBytes: 45 * MiB, pixels: 64_000_000 }

/** By media type: how `image-size` names it, and the bytes that such a file begins with. */
const accepted: ReadonlyMap<string, { readonly type: string; readonly magic: readonly number[] }> = new Map([
  ['image/jpeg', { type: 'jpg', magic: [0xff, 0xd8, 0xff] }],
  ['image/png', { type: 'png', magic: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] }],
])

/**
 * The bytes of every image, checked: size before decoding, then magic bytes against the declared type, then the
 * dimensions that the header names (an image that cannot be measured is refused where `requiresDimensions`).
 *
 * @throws Problem `mixed-image-mode`, `validation-failed`, `image-too-large`, `image-invalid`
 */
export function decodeInlineImages(images: readonly DeclaredImage[], requiresDimensions: boolean): DecodedImage[] {
  const withData = images.filter((image) => image.data !== undefined).length
  if (withData > 0 && withData < images.length) throw problem('mixed-image-mode', { errors: missingData(images) })
  if (withData === 0) throw problem('validation-failed', { errors: missingData(images) })
  refuse('validation-failed', images.flatMap(typeErrors))
  refuse('image-too-large', sizeErrors(images))
  const decoded = images.map(decode)
  refuse('validation-failed', decoded.flatMap((image, index) => (image === null ? [base64Error(index)] : [])))
  const measured = decoded.flatMap((bytes, index) => {
    const image = images[index]
    return bytes === null || image === undefined ? [] : [measure(image, bytes)]
  })
  refuse('image-invalid', measured.flatMap((image, index) => contentErrors(image, index, requiresDimensions)))
  refuse('image-too-large', measured.flatMap(pixelErrors))
  return measured
}

function refuse(code: 'validation-failed' | 'image-too-large' | 'image-invalid', errors: readonly MemberError[]): void {
  if (errors.length > 0) throw problem(code, { errors })
}

function missingData(images: readonly DeclaredImage[]): MemberError[] {
  return images.flatMap((image, index) =>
    image.data === undefined ? [{ pointer: `/images/${index}/data`, detail: 'is required', code: 'required' }] : [],
  )
}

function typeErrors(image: DeclaredImage, index: number): MemberError[] {
  if (accepted.has(image.mime_type)) return []
  return [{ pointer: `/images/${index}/mime_type`, detail: 'must be image/jpeg or image/png', code: 'enum' }]
}

function sizeErrors(images: readonly DeclaredImage[]): MemberError[] {
  const sizes = images.map(({ data = '' }) => decodedLength(data))
  const errors = sizes.flatMap((size, index) =>
    size > limits.imageBytes ? [{ pointer: `/images/${index}/data`, detail: 'must not exceed 20 MiB', code: 'too-large' }] : [],
  )
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total > limits.totalBytes) {
    errors.push({ pointer: '/images', detail: 'must not exceed 45 MiB in all', code: 'too-large' })
  }
  return errors
}

/** Null where the text is not base64 (RFC 4648 section 4, padding required). */
function decode({ data = '' }: DeclaredImage): Buffer | null {
  if (data.length === 0 || data.length % 4 !== 0) return null
  const bytes = Buffer.from(data, 'base64')
  // Node.js passes over what is not in the alphabet, so the length tells whether anything was.
  return bytes.length === decodedLength(data) && !/[-_\s]/.test(data) ? bytes : null
}

/** Bytes that a base64 text stands for, told without decoding it. */
function decodedLength(data: string): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return Math.floor((data.length * 3) / 4) - padding
}

function base64Error(index: number): MemberError {
  return { pointer: `/images/${index}/data`, detail: 'must be base64 in the standard alphabet with padding, without line breaks and without a data: prefix', code: 'base64' }
}

function measure(image: DeclaredImage, bytes: Buffer): DecodedImage {
  const base = {
    captureType: image.capture_type,
    mimeType: image.mime_type,
    bytes,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }
  try {
    const { width, height, type } = imageSize(bytes)
    const isMeasured = type === accepted.get(image.mime_type)?.type && width > 0 && height > 0
    return isMeasured ? { ...base, width, height } : { ...base, width: null, height: null }
  } catch {
    return { ...base, width: null, height: null }
  }
}

function contentErrors(image: DecodedImage, index: number, requiresDimensions: boolean): MemberError[] {
  const pointer = `/images/${index}/data`
  const magic = accepted.get(image.mimeType)?.magic
  if (magic?.every((byte, at) => image.bytes[at] === byte) !== true) {
    return [{ pointer, detail: 'is not an image of the declared mime_type', code: 'image-type' }]
  }
  if (!requiresDimensions || image.width !== null) return []
  return [{ pointer, detail: 'does not say how large the image is', code: 'image-dimensions' }]
}

function pixelErrors(image: DecodedImage, index: number): MemberError[] {
  if ((image.width ?? 0) * (image.height ?? 0) <= limits.pixels) return []
  return [{ pointer: `/images/${index}/data`, detail: 'must not exceed 64 megapixels', code: 'too-many-pixels' }]
}

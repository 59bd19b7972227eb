import { problem, type MemberError, type ProblemCode } from '../../platform/problems.ts'
import type { CreateAssessmentBody } from './bodies.ts'
import { contentErrors, declaredTypeErrors, inspectImage, limits, pixelErrors, sizeErrors, type InspectedImage } from './image-checks.ts'

type Declared = CreateAssessmentBody['images'][number]

export interface DecodedImage extends InspectedImage {
  readonly data: Buffer
}

/**
 * Whether the images come with the request (inline mode) or are declared only (slot mode); all or none have `data`.
 *
 * @throws Problem `mixed-image-mode`, `validation-failed`
 */
export function imageMode(images: readonly Declared[]): 'inline' | 'slot' {
  const without = images.flatMap((image, index) => (image.data === undefined ? [requiredData(index)] : []))
  if (without.length > 0 && without.length < images.length) throw problem('mixed-image-mode', { errors: without })
  refuse('validation-failed', images.flatMap(declaredTypeErrors))
  return without.length === 0 ? 'inline' : 'slot'
}

/**
 * The bytes of every image, checked: size before decoding, then magic bytes against the declared type, then the
 * dimensions that the header names (an image that cannot be measured is refused where `requiresDimensions`).
 *
 * @throws Problem `validation-failed`, `image-too-large`, `image-invalid`
 */
export function decodeInlineImages(images: readonly Declared[], requiresDimensions: boolean): DecodedImage[] {
  refuse('image-too-large', declaredSizeErrors(images))
  const decoded = images.map(decode)
  refuse('validation-failed', decoded.flatMap((image, index) => (image === null ? [base64Error(index)] : [])))
  const inspected = decoded.flatMap((bytes, index) => {
    const image = images[index]
    return bytes === null || image === undefined ? [] : [inspect(image, bytes)]
  })
  refuse('image-invalid', inspected.flatMap((image, index) => contentErrors(image, pointerTo(index), requiresDimensions)))
  refuse('image-too-large', inspected.flatMap((image, index) => pixelErrors(image, pointerTo(index))))
  return inspected
}

function refuse(code: ProblemCode, errors: readonly MemberError[]): void {
  if (errors.length > 0) throw problem(code, { errors })
}

function pointerTo(index: number): string {
  return `/images/${index}/data`
}

function requiredData(index: number): MemberError {
  return { pointer: pointerTo(index), detail: 'is required', code: 'required' }
}

function declaredSizeErrors(images: readonly Declared[]): MemberError[] {
  const sizes = images.map(({ data = '' }) => decodedLength(data))
  const errors = sizes.flatMap((size, index) => sizeErrors(size, pointerTo(index)))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total > limits.totalBytes) {
    errors.push({ pointer: '/images', detail: 'must not exceed 45 MiB in all', code: 'too-large' })
  }
  return errors
}

/** Null where the text is not base64 (RFC 4648 section 4, padding required). */
function decode({ data = '' }: Declared): Buffer | null {
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
  return { pointer: pointerTo(index), detail: 'must be base64 in the standard alphabet with padding, without line breaks and without a data: prefix', code: 'base64' }
}

function inspect({ mime_type }: Declared, data: Buffer): DecodedImage {
  const inspection = inspectImage()
  inspection.push(data)
  return { ...inspection.end(mime_type), data }
}

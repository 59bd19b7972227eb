import type { StoredBytes } from '../../platform/storage/stream-upload.ts'
import { problem, type MemberError, type ProblemCode } from '../../platform/http/problems.ts'
import type { CreateAssessmentBody } from './bodies.ts'
import {
  contentErrors,
  declaredTypeErrors,
  limits,
  pixelErrors,
  sizeErrors,
  type InspectedImage,
} from './image-checks.ts'
import type { StagedImage, StagedImages } from './staged-image.ts'

type Declared = CreateAssessmentBody['images'][number]

/** A checked image of an accepted request. */
export interface CheckedImage extends InspectedImage {
  /** Stores it permanently. @throws Problem `object-store-unavailable` */
  store(key: string): Promise<StoredBytes>
}

/**
 * Inline mode if all images have `data`, slot mode if none has.
 *
 * @throws Problem `mixed-image-mode`, `validation-failed`
 */
export function imageMode(images: readonly Declared[]): 'inline' | 'slot' {
  const without = images.flatMap((image, index) => (image.data === undefined ? [requiredData(index)] : []))
  if (without.length > 0 && without.length < images.length) throw problem('mixed-image-mode', { errors: without })
  refuse(
    'validation-failed',
    images.flatMap((image, index) => declaredTypeErrors(image, `/images/${index}`)),
  )
  return without.length === 0 ? 'inline' : 'slot'
}

/**
 * Checks every image of an inline request: size, then base64, then the magic bytes against the declared type, then the
 * dimensions in the header. With `requiresDimensions` an image without them is refused.
 *
 * @throws Problem `validation-failed`, `image-too-large`, `image-invalid`
 */
export function checkInlineImages(
  images: readonly Declared[],
  staged: StagedImages | undefined,
  requiresDimensions: boolean,
): CheckedImage[] {
  const read = images.map(({ mime_type: mimeType }, index) => ({ mimeType, image: stagedAt(staged, index) }))
  refuse('image-too-large', tooLargeErrors(read.map(({ image }) => image.size())))
  refuse(
    'validation-failed',
    read.flatMap(({ image }, index) => (image.isBase64() ? [] : [base64Error(index)])),
  )
  const checked = read.map(({ image, mimeType }) => {
    const inspected = image.inspect(mimeType)
    return { ...inspected, store: (key: string) => image.store(key, inspected, mimeType) }
  })
  refuse(
    'image-invalid',
    checked.flatMap((image, index) => contentErrors(image, pointerTo(index), requiresDimensions)),
  )
  refuse(
    'image-too-large',
    checked.flatMap((image, index) => pixelErrors(image, pointerTo(index))),
  )
  return checked
}

/** The content that an Idempotency-Key identifies: the body, with hash and length in place of image bytes. */
export function withHashes(body: CreateAssessmentBody, checked: readonly InspectedImage[]): unknown {
  const images = body.images.map(({ data: _, ...image }, index) => {
    const bytes = checked[index]
    return bytes === undefined ? image : { ...image, data: { sha256: bytes.sha256, length: bytes.bytes } }
  })
  return { ...body, images }
}

function stagedAt(staged: StagedImages | undefined, index: number): StagedImage {
  const image = staged?.at(index)
  if (image === undefined) throw problem('internal-error')
  return image
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

function tooLargeErrors(sizes: readonly number[]): MemberError[] {
  const errors = sizes.flatMap((size, index) => sizeErrors(size, pointerTo(index)))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total > limits.totalBytes) {
    errors.push({ pointer: '/images', detail: 'must not exceed 45 MiB in all', code: 'too-large' })
  }
  return errors
}

function base64Error(index: number): MemberError {
  return {
    pointer: pointerTo(index),
    detail: 'must be base64 in the standard alphabet with padding, without line breaks and without a data: prefix',
    code: 'base64',
  }
}

import type { ObjectStore, ObjectVersion } from '../../platform/storage/object-store.ts'
import { problem, type MemberError, type Problem } from '../../platform/http/problems.ts'
import type { ReceivedImage } from '../../streams/assessment/events.ts'
import type { DeclaredImage } from '../../streams/assessment/aggregate.ts'
import { contentErrors, inspectImage, pixelErrors, sizeErrors } from './image-checks.ts'
import { dayOf, imageKey } from './image-key.ts'
import { removeUnnamed } from './unnamed-objects.ts'
import { uploadKey } from './uploads.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

export interface FrozenUploads {
  /** In the order of the request. */
  readonly images: readonly ReceivedImage[]
  /** Removes the copies, except those with these keys. */
  discard(named: ReadonlySet<string>): Promise<void>
}

export interface FreezeOptions {
  readonly now: () => Date
  readonly randomPart: () => string
  readonly objects: ObjectStore
  /** Refuses an image if its header does not contain the dimensions. */
  readonly requiresDimensions: boolean
}

/** The images that one owner declares. Each has its own place for the upload. */
export interface AwaitedUploads {
  readonly organisationId: TenantId
  readonly ownerId: string
  readonly images: readonly DeclaredImage[]
  /** JSON pointer to the image in the request. Default: its place in `images`. */
  readonly pointerOf?: (index: number) => string
}

/** One declared image, and the key of its upload. */
interface UploadPlace {
  readonly image: DeclaredImage
  readonly key: string
  readonly pointer: string
}

type Upload = readonly [place: UploadPlace, version: ObjectVersion]

/** Attempts to copy an upload that is overwritten meanwhile. */
const copyAttempts = 3

/**
 * Copies every upload to a key that nothing overwrites. Then checks the copy (type, pixels, SHA-256) in one pass over
 * its bytes, one image at a time. The kept bytes are thus the checked bytes, and a later PUT changes nothing.
 *
 * @throws Problem `uploads-incomplete`, `image-invalid`, `image-too-large`; `conflict` when an upload changed in every
 * attempt; `object-store-unavailable`. No copy remains then, unless the store is away.
 */
export async function freezeUploads(options: FreezeOptions, awaited: AwaitedUploads): Promise<FrozenUploads> {
  const { objects, now, randomPart } = options
  const { organisationId: orgId, ownerId } = awaited
  const copies: string[] = []
  const discard = (named: ReadonlySet<string>, failure?: unknown) =>
    removeUnnamed(
      objects,
      copies.filter((key) => !named.has(key)),
      failure,
    )
  const uploads = await findUploads(objects, awaited)
  try {
    const images: ReceivedImage[] = []
    const errors: MemberError[] = []
    for (const upload of uploads) {
      const key = imageKey({
        day: dayOf(now()),
        orgId,
        ownerId,
        imageId: upload[0].image.imageId,
        randomPart: randomPart(),
      })
      copies.push(key)
      const frozen = await freeze(options, upload, key)
      if (Array.isArray(frozen)) errors.push(...frozen)
      else images.push(frozen)
    }
    refuse(errors)
    return { images, discard }
  } catch (error) {
    await discard(new Set(), error)
    throw error
  }
}

const pointerByPlace = (index: number) => `/images/${index}`

/** The current version of every upload. */
async function findUploads(
  objects: ObjectStore,
  { organisationId, ownerId, images, pointerOf = pointerByPlace }: AwaitedUploads,
): Promise<Upload[]> {
  const places = images.map((image, index): UploadPlace => {
    return { image, key: uploadKey(organisationId, ownerId, image.imageId), pointer: pointerOf(index) }
  })
  const versions = await Promise.all(places.map(({ key }) => objects.head(key)))
  const missing = places.filter((_, index) => versions[index] === undefined)
  if (missing.length > 0) throw incomplete(missing)
  return places.flatMap((place, index) => {
    const version = versions[index]
    return version === undefined ? [] : [[place, version] as const]
  })
}

/** Copies and checks one image. Returns the kept image, or its errors. */
async function freeze(
  { objects, requiresDimensions }: FreezeOptions,
  [place, version]: Upload,
  key: string,
): Promise<ReceivedImage | MemberError[]> {
  const { image, pointer } = place
  const tooLarge = await copyUpload(objects, place, version, key)
  if (tooLarge.length > 0) return tooLarge
  const copy = await objects.read(key)
  if (copy === undefined) throw problem('object-store-unavailable', { retryAfterSeconds: 2 })
  const inspection = inspectImage()
  for await (const chunk of copy.chunks) inspection.push(chunk)
  const inspected = inspection.end(image.mimeType)
  const errors = [...contentErrors(inspected, pointer, requiresDimensions), ...pixelErrors(inspected, pointer)]
  if (errors.length > 0) return errors
  const { sha256, bytes, width, height } = inspected
  return { imageId: image.imageId, object: { key, sha256, bytes }, width, height }
}

/** Copies exactly the version whose size was checked. Does not copy a version that is too large. */
async function copyUpload(
  objects: ObjectStore,
  place: UploadPlace,
  version: ObjectVersion,
  key: string,
): Promise<MemberError[]> {
  let current: ObjectVersion | undefined = version
  for (let attempt = 1; attempt <= copyAttempts; attempt++) {
    if (current === undefined) throw incomplete([place])
    const tooLarge = sizeErrors(current.bytes, place.pointer)
    if (tooLarge.length > 0) return tooLarge
    if (await objects.copy({ key: place.key, etag: current.etag }, key)) return []
    current = await objects.head(place.key)
  }
  throw problem('conflict')
}

function refuse(errors: readonly MemberError[]): void {
  if (errors.length === 0) return
  const isInvalid = errors.some(({ code }) => code === 'image-type' || code === 'image-dimensions')
  throw problem(isInvalid ? 'image-invalid' : 'image-too-large', { errors })
}

function incomplete(missing: readonly UploadPlace[]): Problem {
  return problem('uploads-incomplete', { extensions: { missing_image_ids: missing.map(({ image }) => image.imageId) } })
}

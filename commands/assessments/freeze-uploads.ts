import type { ObjectStore } from '../../platform/object-store.ts'
import { problem, type MemberError } from '../../platform/problems.ts'
import type { ReceivedImage } from '../../streams/assessment/events.ts'
import type { AwaitingAssessment, DeclaredImage } from '../../streams/assessment/state.ts'
import { contentErrors, inspectImage, pixelErrors, sizeErrors, type InspectedImage } from './image-checks.ts'
import { newImageKey } from './image-key.ts'
import { uploadKey } from './uploads.ts'

export interface FrozenUploads {
  /** In the order of the request. */
  readonly images: readonly ReceivedImage[]
  /** Removes the copies, where nothing came to name them. */
  discard(): Promise<void>
}

export interface FreezeOptions {
  readonly objects: ObjectStore
  /** Refuses an image whose header does not name its dimensions. */
  readonly requiresDimensions: boolean
}

/** One image of the assessment, and where it is uploaded to. */
interface Slot {
  readonly image: DeclaredImage
  readonly key: string
  readonly pointer: string
}

interface CheckedUpload {
  readonly slot: Slot
  readonly etag: string
  readonly inspected: InspectedImage
}

/** An upload that is overwritten while it is copied is checked again, as often as this. */
const freezeAttempts = 3

/**
 * Checks every upload (type, size, pixels) in one pass over its bytes, one upload at a time, then copies the very
 * versions that were checked under keys that nothing overwrites: a later PUT changes nothing any more (T31).
 *
 * @throws Problem `uploads-incomplete`, `image-invalid`, `image-too-large`; `conflict` when an upload would not stand
 * still; `object-store-unavailable`. No copy is left behind then.
 */
export async function freezeUploads(options: FreezeOptions, { organisationId, assessmentId, images }: AwaitingAssessment): Promise<FrozenUploads> {
  const { objects } = options
  const slots = images.map((image, index): Slot => {
    return { image, key: uploadKey(organisationId, assessmentId, image.imageId), pointer: `/images/${index}` }
  })
  const areThere = await Promise.all(slots.map(({ key }) => objects.exists(key)))
  requireAll(slots.filter((_, index) => areThere[index] === false))
  const checked = await checkAll(options, slots)

  const copies: string[] = []
  const discard = async () => void (await Promise.allSettled(copies.map((key) => objects.remove(key))))
  try {
    const frozen: ReceivedImage[] = []
    for (const upload of checked) {
      const key = newImageKey(organisationId, assessmentId, upload.slot.image.imageId)
      copies.push(key)
      frozen.push(await freeze(options, upload, key))
    }
    return { images: frozen, discard }
  } catch (error) {
    await discard()
    throw error
  }
}

async function freeze(options: FreezeOptions, upload: CheckedUpload, key: string): Promise<ReceivedImage> {
  let current = upload
  for (let attempt = 1; ; attempt++) {
    const { slot, etag, inspected } = current
    if (await options.objects.copy({ key: slot.key, etag }, key)) {
      const { sha256, bytes, width, height } = inspected
      return { imageId: slot.image.imageId, object: { key, sha256, bytes }, width, height }
    }
    if (attempt === freezeAttempts) throw problem('conflict')
    for (const again of await checkAll(options, [slot])) current = again
  }
}

async function checkAll(options: FreezeOptions, slots: readonly Slot[]): Promise<CheckedUpload[]> {
  const checked: CheckedUpload[] = []
  const errors: MemberError[] = []
  const missing: Slot[] = []
  for (const slot of slots) {
    const looked = await look(options, slot)
    if (looked === undefined) missing.push(slot)
    else if (Array.isArray(looked)) errors.push(...looked)
    else checked.push(looked)
  }
  requireAll(missing)
  if (errors.length > 0) {
    const isInvalid = errors.some(({ code }) => code === 'image-type' || code === 'image-dimensions')
    throw problem(isInvalid ? 'image-invalid' : 'image-too-large', { errors })
  }
  return checked
}

/** The upload checked, what is wrong with it, or undefined where there is none. */
async function look({ objects, requiresDimensions }: FreezeOptions, slot: Slot): Promise<CheckedUpload | MemberError[] | undefined> {
  const found = await objects.read(slot.key)
  if (found === undefined) return undefined
  const tooLarge = sizeErrors(found.bytes, slot.pointer)
  if (tooLarge.length > 0) {
    found.close()
    return tooLarge
  }
  const inspection = inspectImage(slot.image.mimeType)
  for await (const chunk of found.chunks) inspection.push(chunk)
  const inspected = inspection.end()
  const errors = [...contentErrors(inspected, slot.pointer, requiresDimensions), ...pixelErrors(inspected, slot.pointer)]
  return errors.length > 0 ? errors : { slot, etag: found.etag, inspected }
}

function requireAll(missing: readonly Slot[]): void {
  if (missing.length === 0) return
  throw problem('uploads-incomplete', { extensions: { missing_image_ids: missing.map(({ image }) => image.imageId) } })
}

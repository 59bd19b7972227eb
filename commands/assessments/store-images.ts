import type { ObjectStore } from '../../platform/storage/object-store.ts'
import type { DeclaredImage } from '../../streams/assessment/aggregate.ts'
import type { InlineImage } from './create-assessment.ts'
import { dayOf, imageKey } from './image-key.ts'
import type { CheckedImage } from './inline-images.ts'
import { removeUnnamed } from './unnamed-objects.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

export interface StoredImages {
  /** In the order of the request. */
  readonly images: readonly InlineImage[]
  /** Removes the images, except those with these keys. */
  discard(named: ReadonlySet<string>): Promise<void>
}

export interface StoreImagesOptions {
  readonly objects: Pick<ObjectStore, 'remove'>
  readonly now: () => Date
  readonly randomPart: () => string
}

export interface InlineImages {
  readonly orgId: TenantId
  readonly ownerId: string
  readonly declared: readonly DeclaredImage[]
  /** One for each declared image. */
  readonly checked: readonly CheckedImage[]
}

/**
 * Stores the images of a request permanently, one after another.
 *
 * @throws Problem `object-store-unavailable`. No image remains then, unless the store is away
 */
export async function storeImages(
  { objects, now, randomPart }: StoreImagesOptions,
  { orgId, ownerId, declared, checked }: InlineImages,
): Promise<StoredImages> {
  const keys: string[] = []
  const discard = (named: ReadonlySet<string>, failure?: unknown) =>
    removeUnnamed(
      objects,
      keys.filter((key) => !named.has(key)),
      failure,
    )
  try {
    const images: InlineImage[] = []
    for (const [place, image] of checked.entries()) {
      const declaration = declared[place]
      if (declaration === undefined) continue
      const key = imageKey({
        day: dayOf(now()),
        orgId,
        ownerId,
        imageId: declaration.imageId,
        randomPart: randomPart(),
      })
      keys.push(key)
      images.push({ ...declaration, object: await image.store(key), width: image.width, height: image.height })
    }
    return { images, discard }
  } catch (error) {
    await discard(new Set(), error)
    throw error
  }
}

import { isImageKeyOf } from '../../commands/assessments/image-key.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { ObjectStore, SignedAddress } from '../../platform/storage/object-store.ts'
import type { GivenAddress, RequestedImage, ReviewImage } from '../../streams/ai-review/review-image.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

interface SigningDependencies {
  readonly objects: Pick<ObjectStore, 'presignRead'>
  readonly configuration: Pick<Configuration, 'readUrlTtlSeconds'>
}

/** A signed address of an image of the organisation. Undefined for any other key. */
async function signedRead(
  { objects, configuration }: SigningDependencies,
  orgId: TenantId,
  objectKey: string,
): Promise<SignedAddress | undefined> {
  return isImageKeyOf(orgId, objectKey) ? objects.presignRead(objectKey, configuration.readUrlTtlSeconds) : undefined
}

/** Images of an assessment with signed addresses, for the supersede of its review. */
export async function signedImages(
  deps: SigningDependencies,
  orgId: TenantId,
  images: readonly Pick<RequestedImage, 'imageId' | 'imageType' | 'objectKey'>[],
): Promise<Omit<RequestedImage, 'objectKey'>[]> {
  return Promise.all(
    images.map(async ({ objectKey, ...image }) => {
      const signed = await signedRead(deps, orgId, objectKey)
      if (signed === undefined) throw new Error('an assessment names an object of another organisation')
      return { ...image, presignedUrl: signed.url, presignedUrlExpiresAt: signed.expiresAt.toISOString() }
    }),
  )
}

/**
 * The address from which a review reads an image. An object of the platform gets a fresh signature. An address that a
 * caller gave is used unchanged. Undefined if nothing may be read.
 */
export async function readAddress(
  deps: SigningDependencies,
  review: { readonly orgId: TenantId; readonly addresses: readonly GivenAddress[] | null },
  { imageId, objectKey }: ReviewImage,
): Promise<string | undefined> {
  if (objectKey !== null) return (await signedRead(deps, review.orgId, objectKey))?.url
  return review.addresses?.find((given) => given.imageId === imageId)?.presignedUrl
}

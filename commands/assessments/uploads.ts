import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { ObjectStore, SignedAddress } from '../../platform/storage/object-store.ts'
import type { AwaitingAssessment, DeclaredImage } from '../../streams/assessment/aggregate.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/** Where an image is uploaded to: one place, whichever address it came by; may be overwritten until it is submitted. */
export function uploadKey(orgId: TenantId, ownerId: string, imageId: string): string {
  return `uploads/${orgId}/${ownerId}/${imageId}`
}

interface Signing {
  readonly objects: Pick<ObjectStore, 'presignWrite'>
  readonly configuration: Pick<Configuration, 'uploadUrlTtlSeconds'>
  readonly now: () => Date
}

/** What awaits uploads until its window closes. */
export interface UploadWindow {
  readonly organisationId: TenantId
  readonly ownerId: string
  readonly closesAt: string
}

/** The window of an assessment's images. */
export function windowOf({ organisationId, assessmentId, uploadsCloseAt }: AwaitingAssessment): UploadWindow {
  return { organisationId, ownerId: assessmentId, closesAt: uploadsCloseAt ?? '' }
}

/** An address to put one image to; of no use once the window has closed. */
export async function signUpload(
  { objects, configuration, now }: Signing,
  { organisationId, ownerId, closesAt }: UploadWindow,
  { imageId, mimeType, sizeBytes }: Pick<DeclaredImage, 'imageId' | 'mimeType' | 'sizeBytes'>,
): Promise<SignedAddress> {
  const leftSeconds = Math.ceil((Date.parse(closesAt) - now().getTime()) / 1000)
  const ttlSeconds = Math.max(1, Math.min(configuration.uploadUrlTtlSeconds, leftSeconds))
  return objects.presignWrite(uploadKey(organisationId, ownerId, imageId), mimeType, ttlSeconds, sizeBytes)
}

/** An upload address for each image that is awaited, by image id. */
export async function signUploads(signing: Signing, state: AwaitingAssessment): Promise<ReadonlyMap<string, string>> {
  const signed = state.images.map(
    async (image) => [image.imageId, (await signUpload(signing, windowOf(state), image)).url] as const,
  )
  return new Map(await Promise.all(signed))
}

/** Uploads are not needed once they are frozen, or their window has closed. One that stays behind harms nobody. */
export async function removeUploads(
  objects: Pick<ObjectStore, 'remove'>,
  {
    organisationId,
    assessmentId,
    images,
  }: {
    readonly organisationId: TenantId
    readonly assessmentId: string
    readonly images: readonly { readonly imageId: string }[]
  },
): Promise<void> {
  await Promise.allSettled(
    images.map(({ imageId }) => objects.remove(uploadKey(organisationId, assessmentId, imageId))),
  )
}

import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { ObjectStore, SignedAddress } from '../../platform/storage/object-store.ts'
import type { AwaitingAssessment, DeclaredImage } from '../../streams/assessment/aggregate.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/** The key of an upload. All addresses of an image use the same key. It may be overwritten until the submit. */
export function uploadKey(orgId: TenantId, ownerId: string, imageId: string): string {
  return uploadPrefix(orgId, ownerId) + imageId
}

/** What clients upload for an assessment, or for an image without one. */
export function uploadPrefix(orgId: TenantId, ownerId: string): string {
  return `uploads/${orgId}/${ownerId}/`
}

interface Signing {
  readonly objects: Pick<ObjectStore, 'presignWrite'>
  readonly configuration: Pick<Configuration, 'uploadUrlTtlSeconds'>
  readonly now: () => Date
}

/** An owner that awaits uploads until its window closes. */
export interface UploadWindow {
  readonly organisationId: TenantId
  readonly ownerId: string
  readonly closesAt: string
}

/** The window of an assessment's images. */
export function windowOf({ organisationId, assessmentId, uploadsCloseAt }: AwaitingAssessment): UploadWindow {
  return { organisationId, ownerId: assessmentId, closesAt: uploadsCloseAt ?? '' }
}

/** An address for the PUT of one image. It expires when the window closes, or earlier. */
export async function signUpload(
  { objects, configuration, now }: Signing,
  { organisationId, ownerId, closesAt }: UploadWindow,
  { imageId, mimeType, sizeBytes }: Pick<DeclaredImage, 'imageId' | 'mimeType' | 'sizeBytes'>,
): Promise<SignedAddress> {
  const leftSeconds = Math.ceil((Date.parse(closesAt) - now().getTime()) / 1000)
  const ttlSeconds = Math.max(1, Math.min(configuration.uploadUrlTtlSeconds, leftSeconds))
  return objects.presignWrite(uploadKey(organisationId, ownerId, imageId), mimeType, ttlSeconds, sizeBytes)
}

/** An upload address for each awaited image, by image id. */
export async function signUploads(signing: Signing, state: AwaitingAssessment): Promise<ReadonlyMap<string, string>> {
  const signed = state.images.map(
    async (image) => [image.imageId, (await signUpload(signing, windowOf(state), image)).url] as const,
  )
  return new Map(await Promise.all(signed))
}

/** Removes uploads that are frozen, or whose window has closed. An upload that remains does no harm. */
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

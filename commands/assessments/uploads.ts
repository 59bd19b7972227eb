import type { ObjectStore } from '../../platform/object-store.ts'
import type { AwaitingAssessment } from '../../streams/assessment/state.ts'

/** Where an image is uploaded to: one place, whichever address it came by; may be overwritten until it is submitted. */
export function uploadKey(orgId: string, assessmentId: string, imageId: string): string {
  return `uploads/${orgId}/${assessmentId}/${imageId}`
}

/** An upload address for each image that is awaited, by image id. */
export async function signUploads(
  objects: Pick<ObjectStore, 'presignWrite'>,
  { organisationId, assessmentId, images }: AwaitingAssessment,
  ttlSeconds: number,
): Promise<ReadonlyMap<string, string>> {
  const signed = images.map(async ({ imageId, mimeType }) => {
    const { url } = await objects.presignWrite(uploadKey(organisationId, assessmentId, imageId), mimeType, ttlSeconds)
    return [imageId, url] as const
  })
  return new Map(await Promise.all(signed))
}

/** What was uploaded is not needed once it is frozen; a copy that stays behind is swept later. */
export async function removeUploads(
  objects: Pick<ObjectStore, 'remove'>,
  { organisationId, assessmentId, images }: { readonly organisationId: string; readonly assessmentId: string; readonly images: readonly { readonly imageId: string }[] },
): Promise<void> {
  await Promise.allSettled(images.map(({ imageId }) => objects.remove(uploadKey(organisationId, assessmentId, imageId))))
}

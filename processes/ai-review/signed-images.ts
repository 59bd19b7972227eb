import type { ObjectStore } from '../../platform/object-store.ts'
import type { ReviewImage } from '../../streams/ai-review/review-image.ts'

export interface StoredImage {
  readonly imageId: string
  readonly imageType: ReviewImage['imageType']
  readonly objectKey: string
}

/** Images under read addresses that are signed now: as late as possible before they are used (T30). */
export function signedImages(
  images: readonly StoredImage[],
  objects: Pick<ObjectStore, 'presignRead'>,
  ttlSeconds: number,
): Promise<ReviewImage[]> {
  return Promise.all(
    images.map(async ({ imageId, imageType, objectKey }) => {
      const { url, expiresAt } = await objects.presignRead(objectKey, ttlSeconds)
      return { imageId, imageType, presignedUrl: url, presignedUrlExpiresAt: expiresAt.toISOString() }
    }),
  )
}

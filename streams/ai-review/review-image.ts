import { Type, type Static } from 'typebox'
import { Phi } from '../store/schema.ts'
import { Id, ImageType, Instant, Nullable } from '../types.ts'

const described = {
  imageId: Id,
  imageType: ImageType,
  deviceManufacturer: Type.Optional(Type.String()),
  deviceModel: Type.Optional(Type.String()),
}

/** An image of a review. The review signs the read address of an object of the platform when it fetches the image. */
export const ReviewImage = Type.Object({
  ...described,
  /** From the platform's own record of the image. Null where a caller gave an address: the platform never signs one of those. */
  objectKey: Nullable(Type.String()),
})
export type ReviewImage = Static<typeof ReviewImage>

/** The address that a caller gave for an image, with its own signature. */
export const GivenAddress = Type.Object({ imageId: Id, presignedUrl: Type.String(), presignedUrlExpiresAt: Instant })
export type GivenAddress = Static<typeof GivenAddress>

/**
 * Such an address gives access to the image until it expires, so every event seals it (T30). Null where no caller gave one,
 * and after the patient was erased.
 */
export const GivenAddresses = Phi(Nullable(Type.Array(GivenAddress)))

/** An image as the public request names it: `presignedUrl` carries no signature and opens nothing by itself. */
export const RequestedImage = Type.Object({
  ...described,
  objectKey: Type.String(),
  presignedUrl: Type.String(),
  presignedUrlExpiresAt: Instant,
})
export type RequestedImage = Static<typeof RequestedImage>

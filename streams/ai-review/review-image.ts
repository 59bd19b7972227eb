import { Type, type Static } from 'typebox'
import { Phi } from '../../engine/store/schema.ts'
import { Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'
import { ImageType } from '../types.ts'

const described = {
  imageId: Id,
  imageType: ImageType,
  deviceManufacturer: Type.Optional(Type.String()),
  deviceModel: Type.Optional(Type.String()),
}

/** An image of a review. If it is an object of the platform, the review signs its read address when it fetches it. */
export const ReviewImage = Type.Object({
  ...described,
  /**
   * From the platform's own record of the image. Null for an address from a caller: the platform never signs such an
   * address.
   */
  objectKey: Nullable(Type.String()),
})
export type ReviewImage = Static<typeof ReviewImage>

/** The address of an image from a caller, with its own signature. */
export const GivenAddress = Type.Object({ imageId: Id, presignedUrl: Type.String(), presignedUrlExpiresAt: Instant })
export type GivenAddress = Static<typeof GivenAddress>

/**
 * An address gives access to the image until it expires, so every event seals it. Null if no caller sent one, and after
 * the patient's erasure.
 */
export const GivenAddresses = Phi(Nullable(Type.Array(GivenAddress)))

/** The request for a review, as the claim of the slot and the review's first event contain it. */
export const reviewRequest = {
  aiReviewId: Id,
  caseId: Id,
  productId: Id,
  orgId: OrgId,
  patientId: Nullable(Id),
  correlationId: Nullable(Type.String()),
  images: Type.Array(ReviewImage),
  addresses: GivenAddresses,
}

/** An image in the public request. `presignedUrl` contains no signature, so it opens nothing by itself. */
export const RequestedImage = Type.Object({
  ...described,
  objectKey: Type.String(),
  presignedUrl: Type.String(),
  presignedUrlExpiresAt: Instant,
})
export type RequestedImage = Static<typeof RequestedImage>

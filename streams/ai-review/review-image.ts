import { Type, type Static } from 'typebox'
import { Id, ImageType, Instant } from '../types.ts'

/** An image of a review as the request named it. The address is a credential: shown in no GET and no log (T30). */
export const ReviewImage = Type.Object({
  imageId: Id,
  imageType: ImageType,
  presignedUrl: Type.String(),
  presignedUrlExpiresAt: Instant,
  deviceManufacturer: Type.Optional(Type.String()),
  deviceModel: Type.Optional(Type.String()),
})
export type ReviewImage = Static<typeof ReviewImage>

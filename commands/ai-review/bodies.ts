import { Type, type Static } from 'typebox'
import { urlDocumented } from '../../platform/http/documented.ts'
import { Instant, Uuid } from '../../platform/http/members.ts'
import { AiReviewStatus } from '../../streams/ai-review/events.ts'
import { ImageType } from '../../streams/types.ts'

const maxReviewImages = 10

/** In characters. */
export const maxPresignedUrlLength = 8192

const device = Type.String({ minLength: 1, maxLength: 255 })

/** Images with presigned addresses (specification 4.5). */
export function GivenImages({ hasUnknownMembers }: { readonly hasUnknownMembers: boolean }) {
  return Type.Array(
    Type.Object(
      {
        imageId: Uuid,
        imageType: ImageType,
        presignedUrl: Type.String({ minLength: 1, maxLength: maxPresignedUrlLength, documented: urlDocumented }),
        presignedUrlExpiresAt: Instant,
        deviceManufacturer: Type.Optional(device),
        deviceModel: Type.Optional(device),
      },
      { additionalProperties: hasUnknownMembers },
    ),
    { minItems: 1, maxItems: maxReviewImages },
  )
}

/** Specification 4.5: the images of the new review. Their addresses must be readable now. */
export const SupersedeAiReviewBody = Type.Object(
  {
    reason: Type.Optional(Type.String({ maxLength: 500, description: 'Free of personal data: it is published' })),
    images: GivenImages({ hasUnknownMembers: false }),
  },
  { $id: 'SupersedeAiReviewBody', additionalProperties: false },
)
export type SupersedeAiReviewBody = Static<typeof SupersedeAiReviewBody>

export const CreateAiReviewBody = Type.Object(
  {
    caseId: Uuid,
    productId: Type.Optional(Uuid),
    patientId: Type.Optional(Type.String({ format: 'uuid', description: 'Must be the patient of the case' })),
    images: GivenImages({ hasUnknownMembers: false }),
    supersede: Type.Optional(Type.Boolean({ description: 'Replace the review that holds the slot' })),
    correlationId: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Free of personal data' })),
  },
  { $id: 'CreateAiReviewBody', additionalProperties: false },
)

export const CreateAiReviewReply = Type.Object(
  { aiReviewId: Uuid, status: AiReviewStatus },
  { $id: 'CreateAiReviewReply' },
)

export const SupersedeAiReviewReply = Type.Object(
  { aiReviewId: Uuid, status: AiReviewStatus, supersededAiReviewId: Uuid },
  { $id: 'SupersedeAiReviewReply' },
)

export const CancelAiReviewReply = Type.Object(
  { aiReviewId: Uuid, status: Type.Literal('cancelled') },
  { $id: 'CancelAiReviewReply' },
)

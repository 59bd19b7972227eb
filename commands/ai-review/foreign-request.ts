import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/schema'
import { atFirstUse } from '../../platform/kit/at-first-use.ts'
import { isInstant } from '../../platform/http/formats.ts'
import { Nullable } from '../../platform/http/members.ts'
import { GivenImages } from './bodies.ts'

const id = Type.String({ format: 'uuid' })

/** The request event of specification 4.5, as another service publishes it. Unknown members are accepted. */
const ForeignReviewRequest = Type.Object({
  caseId: id,
  productId: id,
  orgId: id,
  correlationId: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
  requestedAt: Type.String({ format: 'date-time' }),
  images: GivenImages({ hasUnknownMembers: true }),
})
export type ForeignReviewRequest = Static<typeof ForeignReviewRequest>

const validator = atFirstUse(() => Compile(ForeignReviewRequest))

/** The request in the data of an event, or the pointer of the member that breaks the schema. */
export function readForeignRequest(
  data: unknown,
): { readonly request: ForeignReviewRequest } | { readonly fault: string } {
  if (!validator().Check(data)) return { fault: firstFault(data) }
  if (!isInstant(data.requestedAt)) return { fault: '/requestedAt' }
  const seen = new Set<string>()
  for (const [index, { imageId, presignedUrlExpiresAt }] of data.images.entries()) {
    if (!isInstant(presignedUrlExpiresAt)) return { fault: `/images/${index}/presignedUrlExpiresAt` }
    if (seen.has(imageId.toLowerCase())) return { fault: `/images/${index}/imageId` }
    seen.add(imageId.toLowerCase())
  }
  return { request: data }
}

/** A missing member has the pointer that it would have. */
function firstFault(data: unknown): string {
  const [, [error]] = validator().Errors(data)
  if (error?.keyword !== 'required') return error?.instancePath ?? ''
  return `${error.instancePath}/${error.params.requiredProperties[0] ?? ''}`
}

import { Type, type Static } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant, Int32, Nullable, OrgId } from '../../engine/aggregates/types.ts'

/** Number of clinicians who must give an opinion. */
export const opinionBounds = { minimum: 1, maximum: 2 }
export const leaseBounds = { minimum: 5, maximum: 86_400 }

const names = Nullable(Type.Array(Type.String()))

/** Which completed reviews get a task. All selectors that are not null must hold; at least one is not null. */
export const PolicyRule = Type.Object({
  /** Selects every review. */
  always: Nullable(Type.Literal(true)),
  categories: names,
  priorityAtMost: Nullable(Int32),
  referralFlags: names,
  imageQualities: names,
  /** The part of the reviews that are selected by their id, above 0 and at most 1. */
  share: Nullable(Type.Number()),
  opinions: Type.Integer(opinionBounds),
})
export type PolicyRule = Static<typeof PolicyRule>

export const humanReviewPolicyEvents = {
  HumanReviewPolicySet: defineEvent(
    'HumanReviewPolicySet',
    Type.Object({
      organisationId: OrgId,
      rules: Type.Array(PolicyRule),
      leaseSeconds: Type.Integer(leaseBounds),
      /** Null if the administrator secret set it. */
      updatedBy: Nullable(Id),
      updatedAt: Instant,
    }),
  ),
} as const

export type HumanReviewPolicyEvent = EventOf<typeof humanReviewPolicyEvents>

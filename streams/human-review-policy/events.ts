import { Type, type Static } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant, Int32, Nullable, OrgId } from '../../engine/aggregates/types.ts'

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
  /** Number of clinicians who must give an opinion. */
  opinions: Type.Integer({ minimum: 1, maximum: 2 }),
})
export type PolicyRule = Static<typeof PolicyRule>

export const humanReviewPolicyEvents = {
  HumanReviewPolicySet: defineEvent(
    'HumanReviewPolicySet',
    Type.Object({
      organisationId: OrgId,
      rules: Type.Array(PolicyRule),
      leaseSeconds: Type.Integer({ minimum: 5, maximum: 86_400 }),
      /** Null if the administrator secret set it. */
      updatedBy: Nullable(Id),
      updatedAt: Instant,
    }),
  ),
} as const

export type HumanReviewPolicyEvent = EventOf<typeof humanReviewPolicyEvents>

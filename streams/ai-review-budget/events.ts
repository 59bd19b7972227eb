import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Count, Id, Instant } from '../../engine/aggregates/types.ts'

export const aiReviewBudgetEvents = {
  /** A review uses one unit of the budget of its day. */
  AiReviewCounted: defineEvent(
    'AiReviewCounted',
    Type.Object({
      aiReviewId: Id,
      caseId: Id,
      productId: Id,
      /** The review holds its slot already. Otherwise its request counts it first, and then claims the slot. */
      isClaimed: Type.Boolean(),
      /** Units of the day that are left, by the budget in force. */
      budgetLeft: Count,
      countedAt: Instant,
    }),
  ),
  /** The request got no slot, so its review does not exist and its unit is free again. */
  AiReviewCountReturned: defineEvent('AiReviewCountReturned', Type.Object({ aiReviewId: Id, returnedAt: Instant })),
} as const

export type AiReviewBudgetEvent = EventOf<typeof aiReviewBudgetEvents>

import type { TenantId } from '../../platform/kit/tenants.ts'
import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import { aiReviewBudgetEvents, type AiReviewBudgetEvent } from './events.ts'

export interface AiReviewBudgetState {
  /** Reviews that count. */
  readonly used: number
  /** Whether a review counts. False after its count was returned. */
  readonly reviews: GrowingMap<boolean>
}

function evolve({ used, reviews }: AiReviewBudgetState, event: AiReviewBudgetEvent): AiReviewBudgetState {
  const { aiReviewId } = event.data
  const counts = event.type === 'AiReviewCounted'
  return { used: used + (counts ? 1 : -1), reviews: reviews.with(aiReviewId, counts) }
}

/**
 * The reviews of an organisation that count in one UTC day. The day is part of the stream's name, so a stream never has
 * more events than the day has requests, and a review counts in its day whenever its count is recorded.
 */
export const aiReviewBudgets = defineAggregate({
  category: 'ai_review_budget',
  id: (orgId: TenantId, day: string) => idOfOrganisation(orgId, day),
  events: aiReviewBudgetEvents,
  initialState: { used: 0, reviews: new GrowingMap<boolean>() },
  evolve,
})

/** The UTC day of an instant, RFC 3339. */
export function budgetDay(at: Date): string {
  return at.toISOString().slice(0, 10)
}

import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Pool } from '../../platform/database/database.ts'
import { budgetDay } from '../../streams/ai-review-budget/aggregate.ts'
import { aiReviewProcess, reviewPlaces, usedUpBudgets } from './ai-review.process.ts'

export function hasReviewLimits({
  aiReviewDailyBudgetPerOrg,
  aiReviewMaxConcurrentPerOrg,
}: Pick<Configuration, 'aiReviewDailyBudgetPerOrg' | 'aiReviewMaxConcurrentPerOrg'>): boolean {
  return aiReviewDailyBudgetPerOrg !== undefined || aiReviewMaxConcurrentPerOrg !== undefined
}

/**
 * What the limits of organisations hold back now; null if nothing. Anybody may read it, so it contains no organisation
 * and no figure.
 */
export async function heldBackReviews(pool: Pool, now: Date): Promise<string | null> {
  const { name } = aiReviewProcess.list
  const { rows } = await pool.query<{ waits: boolean; is_used_up: boolean }>(
    `select exists (select from ${name}.${reviewPlaces.name} where is_waiting) as waits,
       exists (select from ${name}.${usedUpBudgets.name} where day = $1) as is_used_up`,
    [budgetDay(now)],
  )
  const texts = [
    ...(rows[0]?.waits === true ? ['reviews wait for a place'] : []),
    ...(rows[0]?.is_used_up === true ? ['the budget of the day is used up'] : []),
  ]
  return texts.length === 0 ? null : `of at least one organisation: ${texts.join('; ')}`
}

import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Pool } from '../../platform/database/database.ts'
import { budgetDay } from '../../streams/ai-review-budget/aggregate.ts'
import { rowsOf, tableOf, viewsOf } from '../../engine/reads/tenant-rows.ts'
import { aiReviewProcess, reviewPlaces, usedUpBudgets } from './ai-review.process.ts'

const p = tableOf(aiReviewProcess.list, reviewPlaces, 'p')
const b = tableOf(aiReviewProcess.list, usedUpBudgets, 'b')

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
  const waiting = await viewsOf(pool, rowsOf(p).where(p.isWaiting, true).limit(1))
  const usedUp = await viewsOf(pool, rowsOf(b).where(b.day, budgetDay(now)).limit(1))
  const texts = [
    ...waiting.map(() => 'reviews wait for a place'),
    ...usedUp.map(() => 'the budget of the day is used up'),
  ]
  return texts.length === 0 ? null : `of at least one organisation: ${texts.join('; ')}`
}

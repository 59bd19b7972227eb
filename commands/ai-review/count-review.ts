import { v5 } from 'uuid'
import { Problem } from '../../platform/http/problems.ts'
import { secondsUntil } from '../../platform/http/replies.ts'
import type { StreamRevision } from '../../platform/kit/positions.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import { aiReviewBudgets, budgetDay, type AiReviewBudgetState } from '../../streams/ai-review-budget/aggregate.ts'
import type { AiReviewBudgetEvent } from '../../streams/ai-review-budget/events.ts'
import { aiReviewSlots, type AiReviewSlotState } from '../../streams/ai-review-slot/aggregate.ts'
import type { AiReviewSlotEvent } from '../../streams/ai-review-slot/events.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { isRefusal, refused, type Decision } from '../../engine/commands/decision.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute } from '../../engine/commands/execute.ts'
import type { KeyedLock } from '../../engine/commands/keyed-lock.ts'

export interface CountReview {
  readonly aiReviewId: string
  readonly caseId: string
  readonly productId: string
  readonly isClaimed: boolean
  /** Reviews of an organisation in one UTC day. */
  readonly budget: number
  readonly now: Date
}

/** Counts a review in the budget of its day. A review that counts already changes nothing. */
export function countReview(
  { budget, now, ...review }: CountReview,
  { used, reviews }: AiReviewBudgetState,
): Decision<AiReviewBudgetEvent, 'budget-exceeded'> {
  if (reviews.get(review.aiReviewId) === true) return []
  if (used >= budget) return refused('budget-exceeded')
  return [{ type: 'AiReviewCounted', data: { ...review, budgetLeft: budget - used - 1, countedAt: now.toISOString() } }]
}

/** Frees the unit of a review that was never claimed. */
export function returnCount(
  { aiReviewId, now }: Pick<CountReview, 'aiReviewId' | 'now'>,
  { reviews }: AiReviewBudgetState,
): Decision<AiReviewBudgetEvent> {
  if (reviews.get(aiReviewId) !== true) return []
  return [{ type: 'AiReviewCountReturned', data: { aiReviewId, returnedAt: now.toISOString() } }]
}

/** `inTurn` is one lock for all claims of the process. */
export interface BudgetDependencies extends CommandDependencies {
  readonly inTurn: KeyedLock
}

interface Claim extends Pick<CountReview, 'aiReviewId' | 'caseId' | 'productId' | 'now'> {
  readonly orgId: TenantId
}
type SlotDecision<Name extends string> = (state: AiReviewSlotState) => Decision<AiReviewSlotEvent, Name>
/** Counts the review if the last decision claims the slot. `revision` is that of the decision's state. */
type CountFirst = (revision: StreamRevision) => Promise<void>

/**
 * Runs the claim of a client's review. The review counts in the budget before the claim, so no claim exceeds it. A
 * count without a claim is returned. After a crash between the two, the step `return-count` does this.
 *
 * @throws Problem `budget-exceeded`
 */
export async function claimWithinBudget<
  Result extends { readonly events: readonly AiReviewSlotEvent[] },
  Name extends string,
>(
  deps: BudgetDependencies,
  claim: Claim,
  context: CommandContext,
  decide: SlotDecision<Name>,
  run: (decide: SlotDecision<Name>, countFirst: CountFirst) => Promise<Result>,
): Promise<Result> {
  const { inTurn } = deps
  const { aiReviewDailyBudgetPerOrg: budget } = deps.configuration
  if (budget === undefined) return run(decide, async () => undefined)
  const { orgId, aiReviewId, caseId, productId, now } = claim
  const day = aiReviewBudgets.of(orgId, budgetDay(now))
  const part = (name: string) => ({ ...context, commandId: v5(name, context.commandId) })
  let claims = false
  let isCounted = false
  const noted: SlotDecision<Name> = (state) => {
    const decision = decide(state)
    claims = !isRefusal(decision) && isClaim(decision)
    return decision
  }
  const countFirst: CountFirst = async (revision) => {
    if (!claims) return
    const command = { aiReviewId, caseId, productId, isClaimed: false, budget, now }
    const retryAfterSeconds = secondsUntil(nextMidnight(now), now)
    const answered = (state: AiReviewBudgetState) => {
      const decision = countReview(command, state)
      return isRefusal(decision) ? { ...decision, details: { retryAfterSeconds } } : decision
    }
    try {
      // Requests of one organisation append to one stream. In turn they lose no race within this process.
      const { events } = await inTurn(day.stream, () => execute(deps.store, day, answered, part('count')))
      isCounted ||= events.length > 0
    } catch (error) {
      if (!isOverBudget(error)) throw error
      // Another request may have taken the slot meanwhile. Then the append conflicts, and that review is the answer.
      const slot = await deps.store.load(aiReviewSlots.of(orgId, caseId, productId))
      if (slot.revision === revision) throw error
    }
  }
  const giveBack = async () => {
    if (!isCounted || (await dayOfClaim(deps.store, claim)) === budgetDay(now)) return
    await execute(deps.store, day, (state) => returnCount({ aiReviewId, now }, state), part('return count'))
  }
  try {
    const done = await run(noted, countFirst)
    if (!isClaim(done.events)) await giveBack()
    return done
  } catch (error) {
    // After an unknown outcome the count stays. The step looks whether the claim was recorded.
    if (error instanceof Problem) await giveBack()
    throw error
  }
}

/**
 * Counts a review that holds its slot, in the day of its claim. Without a budget this does nothing.
 *
 * @returns false if the budget of that day is used up
 */
export async function countClaimed(
  { store, configuration }: Pick<CommandDependencies, 'store' | 'configuration'>,
  { orgId, aiReviewId, caseId, productId, claimedAt }: Omit<Claim, 'now'> & { readonly claimedAt: string },
  context: CommandContext,
): Promise<boolean> {
  const { aiReviewDailyBudgetPerOrg: budget } = configuration
  if (budget === undefined) return true
  const now = new Date(claimedAt)
  const count = { aiReviewId, caseId, productId, isClaimed: true, budget, now }
  try {
    await execute(store, aiReviewBudgets.of(orgId, budgetDay(now)), (state) => countReview(count, state), context)
    return true
  } catch (error) {
    if (isOverBudget(error)) return false
    throw error
  }
}

/**
 * The day in which a review was claimed, which is the one that it counts in. Undefined if it never was claimed. A review that
 * no longer holds its slot was opened before.
 */
export async function dayOfClaim(
  store: Pick<EventStore, 'load'>,
  { orgId, aiReviewId, caseId, productId }: Omit<Claim, 'now'>,
): Promise<string | undefined> {
  const { state } = await store.load(aiReviewSlots.of(orgId, caseId, productId))
  if (state.status === 'taken' && state.holder.aiReviewId === aiReviewId)
    return budgetDay(new Date(state.holder.claimedAt))
  const { state: review } = await store.load(aiReviews.of(orgId, aiReviewId))
  return review.status === 'absent' ? undefined : budgetDay(new Date(review.requestedAt))
}

function isClaim(events: readonly AiReviewSlotEvent[]): boolean {
  return events.some(({ type }) => type === 'AiReviewSlotClaimed')
}

function isOverBudget(error: unknown): boolean {
  return error instanceof Problem && error.code === 'budget-exceeded'
}

/** RFC 3339. The budget of the next UTC day begins. */
function nextMidnight(now: Date): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1)).toISOString()
}

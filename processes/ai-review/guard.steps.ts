import { Type, type Static } from 'typebox'
import { cancelWithPatient } from '../../commands/ai-review/cancel-review.ts'
import { countClaimed, dayOfClaim, returnCount } from '../../commands/ai-review/count-review.ts'
import { releasePlace, takePlace } from '../../commands/ai-review/review-places.ts'
import { appends } from '../../engine/processes/attempt.ts'
import { execute } from '../../engine/commands/execute.ts'
import { aiReviewBudgets } from '../../streams/ai-review-budget/aggregate.ts'
import { aiReviewPlaces } from '../../streams/ai-review-places/aggregate.ts'
import { aiReviews, type AiReviewState, type StartingReview } from '../../streams/ai-review/aggregate.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'

/** The count of a request that may not have claimed its slot, or not in this day. */
export const ReturnCountPayload = Type.Object({
  aiReviewId: Type.String(),
  caseId: Type.String(),
  productId: Type.String(),
  day: Type.String(),
})
export type ReturnCountPayload = Static<typeof ReturnCountPayload>

/** A review that waits looks for a place again after so many milliseconds. Usually its place comes to it. */
const lookAgainMs = 60_000

/**
 * Decides whether a review may start within the limits of its organisation. Usually the review counts already. If it
 * does not, the budget of its day was used up, or had no limit, when the review was opened. Without limits this appends
 * and reads nothing.
 *
 * @returns an outcome if the review waits for a place
 */
export async function admission(
  todo: Todo,
  { store, configuration }: ProcessDependencies,
  step: StepContext,
  { orgId, aiReviewId, caseId, productId, requestedAt }: StartingReview,
): Promise<'admitted' | 'over-budget' | StepOutcome> {
  const { aiReviewMaxConcurrentPerOrg: limit } = configuration
  const now = step.now()
  const claim = { orgId, aiReviewId, caseId, productId, claimedAt: requestedAt }
  if (!(await countClaimed({ store, configuration }, claim, todo.attempt()))) return 'over-budget'
  if (limit === undefined) return 'admitted'
  const command = { aiReviewId, requestedAt, limit, now }
  const places = aiReviewPlaces.of(orgId)
  const { state, position } = await execute(store, places, (known) => takePlace(command, known), todo.attempt())
  if (state.running.has(aiReviewId)) return 'admitted'
  if (position !== undefined) return { kind: 'done', position }
  return { kind: 'wait', until: new Date(now.getTime() + lookAgainMs) }
}

/** Nothing personal leaves once the erasure of the patient has begun. The erasure may not have reached this review yet. */
export const cancelErased: ProcessStep = async (todo, { store }, step) => {
  const decide = (state: AiReviewState) => cancelWithPatient({ now: step.now() }, state)
  return appends(store, aiReviews.of(todo.orgId, todo.key), decide, todo.attempt())
}

/** The review has ended. Its place goes to the oldest review of the organisation that waits. */
export const release: ProcessStep = async (todo, { store, configuration }, step) => {
  const { aiReviewMaxConcurrentPerOrg: limit } = configuration
  const command = { aiReviewId: todo.key, limit, now: step.now() }
  const places = aiReviewPlaces.of(todo.orgId)
  return appends(store, places, (state) => releasePlace(command, state), todo.attempt())
}

/**
 * After a crash between the count of a request and its claim: frees the unit, unless the review was claimed in this day. A
 * repeat of the request may have counted and claimed it in the next one.
 */
export const returnUnclaimed: ProcessStep<ReturnCountPayload> = async (todo, { store }, step) => {
  const { orgId, payload } = todo
  const { day, ...claim } = payload
  if ((await dayOfClaim(store, { orgId, ...claim })) === day) return { kind: 'done' }
  const command = { aiReviewId: claim.aiReviewId, now: step.now() }
  const target = aiReviewBudgets.of(orgId, day)
  return appends(store, target, (state) => returnCount(command, state), todo.attempt())
}

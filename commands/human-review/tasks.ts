import type { HumanReviewTask, HumanReviewTaskState, OpenedTask } from '../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent, TaskCancelReason } from '../../streams/human-review-task/events.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import { refused, type Decision, type Refusal } from '../../engine/commands/decision.ts'

export type OpenTask = Omit<OpenedTask, 'openedAt'> & { readonly now: Date }

/** The process repeats it after a crash. The task then exists. */
export function openTask({ now, ...task }: OpenTask, state: HumanReviewTaskState): Decision<HumanReviewTaskEvent> {
  if (state.status !== 'absent' || state.isNotSelected) return []
  return [{ type: 'HumanReviewTaskOpened', data: { ...task, openedAt: now.toISOString() } }]
}

/** No rule selected the review. */
export function passReview(
  { taskId, aiReviewId, now }: Pick<OpenTask, 'taskId' | 'aiReviewId' | 'now'>,
  state: HumanReviewTaskState,
): Decision<HumanReviewTaskEvent> {
  if (state.status !== 'absent' || state.isNotSelected) return []
  return [{ type: 'HumanReviewNotSelected', data: { taskId, aiReviewId, checkedAt: now.toISOString() } }]
}

export interface AssignAssessment {
  readonly assessmentId: string
  readonly now: Date
}

/** The case got its assessment after the task. The task may have ended, because its decision belongs to the assessment too. */
export function assignAssessment(
  { assessmentId, now }: AssignAssessment,
  state: HumanReviewTaskState,
): Decision<HumanReviewTaskEvent> {
  if (state.status === 'absent' || state.assessmentId !== null) return []
  const data = { taskId: state.taskId, assessmentId, assignedAt: now.toISOString() }
  return [{ type: 'HumanReviewAssessmentAssigned', data }]
}

export interface ClaimTask {
  readonly userId: string
  readonly leaseSeconds: number
  readonly request: CausingRequest
  readonly now: Date
}

export type TaskRefusal = 'not-found' | 'task-decided' | 'task-cancelled' | 'idempotency-key-reused'

/** The holder may claim again: the lease starts anew. */
export function claimTask(
  { userId, leaseSeconds, request, now }: ClaimTask,
  state: HumanReviewTaskState,
): Decision<HumanReviewTaskEvent, TaskRefusal | 'task-claimed' | 'opinion-given'> {
  const earlier = earlierRequest(request, state)
  if (earlier !== undefined) return earlier
  const task = undecided(state)
  if ('refused' in task) return task
  if (task.opinions.some((opinion) => opinion.userId === userId)) return refused('opinion-given')
  const holder = holderOf(task, now)
  if (holder !== null && holder !== userId) return refused('task-claimed')
  const leaseUntil = new Date(now.getTime() + leaseSeconds * 1_000).toISOString()
  if (holder === userId && task.claim?.leaseUntil === leaseUntil) return []
  const claimed = { taskId: task.taskId, userId, leaseUntil, request, claimedAt: now.toISOString() }
  return [...expired(task, now), { type: 'HumanReviewTaskClaimed', data: claimed }]
}

export type ReleaseTask = Omit<ClaimTask, 'leaseSeconds'>

/** Releases the holder's claim. A task that nobody holds stays as it is, but keeps the key of the request. */
export function releaseTask(
  { userId, request, now }: ReleaseTask,
  state: HumanReviewTaskState,
): Decision<HumanReviewTaskEvent, TaskRefusal | 'task-claimed'> {
  const earlier = earlierRequest(request, state)
  if (earlier !== undefined) return earlier
  const task = undecided(state)
  if ('refused' in task) return task
  const holder = holderOf(task, now)
  const at = now.toISOString()
  const by = { taskId: task.taskId, userId, request }
  if (holder === userId)
    return [{ type: 'HumanReviewTaskReleased', data: { ...by, reason: 'requested', releasedAt: at } }]
  if (holder !== null) return refused('task-claimed')
  if (task.claim !== null) return expired(task, now, request)
  return request === null ? [] : [{ type: 'HumanReviewReleaseUnneeded', data: { ...by, decidedAt: at } }]
}

/** The process calls it at the end of a lease. A lease that was extended meanwhile stays. */
export function endLease({ now }: { readonly now: Date }, state: HumanReviewTaskState): Decision<HumanReviewTaskEvent> {
  return state.status === 'absent' ? [] : expired(state, now)
}

export interface CancelTask {
  readonly reason: TaskCancelReason
  readonly now: Date
}

/** A decided task stays. */
export function cancelTask({ reason, now }: CancelTask, state: HumanReviewTaskState): Decision<HumanReviewTaskEvent> {
  if (state.status !== 'open' && state.status !== 'claimed') return []
  return [{ type: 'HumanReviewTaskCancelled', data: { taskId: state.taskId, reason, cancelledAt: now.toISOString() } }]
}

/** The consent is granted, although a refusal of it was published at `now`. */
export function confirmConsent(
  { now }: { readonly now: Date },
  state: HumanReviewTaskState,
): Decision<HumanReviewTaskEvent> {
  if (state.status !== 'open' && state.status !== 'claimed') return []
  const checkedAt = now.toISOString()
  if (state.consentCheckedAt === checkedAt) return []
  return [{ type: 'HumanReviewConsentConfirmed', data: { taskId: state.taskId, checkedAt } }]
}

/** The user who holds the task now. Null also from the end of the lease on. */
export function holderOf({ claim }: Pick<HumanReviewTask, 'claim'>, now: Date): string | null {
  return claim === null || Date.parse(claim.leaseUntil) <= now.getTime() ? null : claim.userId
}

/** The answer to the repeat of a keyed request. Undefined if the request is new. */
export function earlierRequest(
  request: CausingRequest,
  state: HumanReviewTaskState,
): Decision<HumanReviewTaskEvent, 'idempotency-key-reused'> | undefined {
  if (request === null || state.status === 'absent') return undefined
  const fingerprint = state.requests.get(request.key)
  if (fingerprint === undefined) return undefined
  return fingerprint === request.fingerprint ? [] : refused('idempotency-key-reused')
}

export function undecided(
  state: HumanReviewTaskState,
): HumanReviewTask | Refusal<'not-found' | 'task-decided' | 'task-cancelled'> {
  switch (state.status) {
    case 'absent':
      return refused('not-found')
    case 'decided':
      return refused('task-decided')
    case 'cancelled':
      return refused('task-cancelled')
    default:
      return state
  }
}

/**
 * The end of a claim whose lease has ended, if there is one. `request`: the keyed request that it is the only effect of.
 * Without it a repeat would release a later claim of the same user.
 */
function expired(task: HumanReviewTask, now: Date, request: CausingRequest = null): HumanReviewTaskEvent[] {
  const { taskId, claim } = task
  if (claim === null || holderOf(task, now) !== null) return []
  const { userId } = claim
  const data = { taskId, userId, reason: 'lease_expired' as const, request, releasedAt: now.toISOString() }
  return [{ type: 'HumanReviewTaskReleased', data }]
}

import { isUser, type PasswordReset, type UserState } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import { openLeaseEnd, refused, type Decision } from '../../engine/commands/decision.ts'

type Outcome = Extract<UserEvent, { type: 'UserPasswordResetEnded' }>['data']['outcome']

export interface RequestPasswordReset {
  readonly requestId: string
  /** The request has a key, so it may be repeated after the one that is under way has ended. */
  readonly isKeyed: boolean
  readonly changedBy: string
  readonly now: Date
}

/** A request that is under way answers the next one too: the user gets one message. So does a repeat of the key. */
export function requestPasswordReset(
  { requestId, isKeyed, changedBy, now }: RequestPasswordReset,
  state: UserState,
): Decision<UserEvent, 'not-found'> {
  if (!isUser(state)) return refused('not-found')
  if (state.usedIds.has(requestId)) return []
  const { userId } = state
  const at = now.toISOString()
  if (state.passwordReset === null)
    return [{ type: 'UserPasswordResetRequested', data: { userId, requestId, requestedAt: at, changedBy } }]
  return isKeyed ? [{ type: 'UserPasswordResetJoined', data: { userId, requestId, joinedAt: at, changedBy } }] : []
}

export interface AttemptPasswordReset {
  readonly requestId: string
  readonly attemptId: string
  readonly now: Date
  readonly leaseUntil: Date
  readonly endedLeases?: readonly string[]
}

/**
 * Records an attempt before the call. If the lease of an earlier attempt ended without an outcome, the message may have
 * been sent. The request then ends as `unknown`, and the caller decides whether to send another one.
 */
export function attemptPasswordReset(
  { requestId, attemptId, now, leaseUntil, endedLeases }: AttemptPasswordReset,
  state: UserState,
): Decision<UserEvent> {
  const reset = resetOf(state, requestId)
  if (reset === undefined || waitsUntil(reset, now, endedLeases) !== null) return []
  if (reset.open !== null) return [ended(reset, 'unknown', now)]
  // The account of a user who is not active cannot be used, so a new password is of no use.
  if (reset.user.status !== 'active') return [ended(reset, 'rejected', now)]
  const data = {
    userId: reset.user.userId,
    requestId,
    attemptId,
    attempt: reset.attempts + 1,
    attemptedAt: now.toISOString(),
    leaseUntil: leaseUntil.toISOString(),
  }
  return [{ type: 'UserPasswordResetAttempted', data }]
}

/** The end of an open attempt's lease, or the time of the next attempt. Null when an attempt may begin now. */
export function waitsUntil(
  { open, nextAttemptAt }: PasswordReset,
  now: Date,
  endedLeases: readonly string[] = [],
): Date | null {
  const until = openLeaseEnd(open?.leaseUntil, now, endedLeases)
  if (until !== null) return until
  return nextAttemptAt !== null && Date.parse(nextAttemptAt) > now.getTime() ? new Date(nextAttemptAt) : null
}

export interface RecordPasswordReset {
  readonly requestId: string
  readonly attemptId: string
  /** With the next attempt, if the message was certainly not sent. */
  readonly outcome: Outcome | { readonly nextAttemptAt: Date }
  readonly now: Date
}

/** Another outcome of the same attempt changes nothing. */
export function recordPasswordReset(
  { requestId, attemptId, outcome, now }: RecordPasswordReset,
  state: UserState,
): Decision<UserEvent> {
  const reset = resetOf(state, requestId)
  if (reset === undefined || reset.open?.attemptId !== attemptId) return []
  if (typeof outcome === 'string') return [ended(reset, outcome, now)]
  const { userId } = reset.user
  const times = { nextAttemptAt: outcome.nextAttemptAt.toISOString(), postponedAt: now.toISOString() }
  return [{ type: 'UserPasswordResetPostponed', data: { userId, requestId, attemptId, ...times } }]
}

/** The request, as long as it has not ended. */
function resetOf(state: UserState, requestId: string) {
  const reset = 'externalId' in state ? state.passwordReset : null
  return reset?.requestId === requestId && 'externalId' in state ? { ...reset, user: state } : undefined
}

function ended({ user, requestId }: NonNullable<ReturnType<typeof resetOf>>, outcome: Outcome, now: Date): UserEvent {
  return {
    type: 'UserPasswordResetEnded',
    data: { userId: user.userId, requestId, outcome, endedAt: now.toISOString() },
  }
}

import type { UserState } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import { openLeaseEnd, refused, repeated, type Decision } from '../../engine/commands/decision.ts'
import type { DataOf } from '../../engine/store/events.ts'

export interface StartRegistration extends Omit<
  DataOf<UserEvent, 'UserRegistrationStarted'>,
  'startedAt' | 'leaseUntil'
> {
  readonly leaseUntil: Date
  readonly now: Date
}

/** An attempt may be creating the account, or a worker may be deleting it. Another attempt waits. */
export function isUnderWay(state: UserState, now: Date): boolean {
  return state.status === 'registering' || clearingUntil(state, now) !== null
}

export function isAbandoned(state: UserState): state is Extract<UserState, { status: 'abandoned' }> {
  return state.status === 'abandoned'
}

/** The end of the lease of a worker that may be deleting the account. */
export function clearingUntil(state: UserState, now: Date, endedLeases: readonly string[] = []): Date | null {
  return isAbandoned(state) ? openLeaseEnd(state.clearing?.leaseUntil, now, endedLeases) : null
}

/**
 * Records an attempt before the identity provider creates the account. An earlier attempt can only come from a request
 * with the same key. If it was abandoned, it may have left an account, and the provider returns that account again.
 * Appends nothing while another attempt is under way.
 */
export function startRegistration(
  { now, leaseUntil, ...command }: StartRegistration,
  state: UserState,
): Decision<UserEvent, 'idempotency-key-reused'> {
  if ('externalId' in state) return repeated(command, state)
  if (state.status !== 'absent' && state.fingerprint !== command.fingerprint) return refused('idempotency-key-reused')
  if (isUnderWay(state, now)) return []
  const times = { startedAt: now.toISOString(), leaseUntil: leaseUntil.toISOString() }
  return [{ type: 'UserRegistrationStarted', data: { ...command, ...times } }]
}

export interface CreateUser extends Omit<DataOf<UserEvent, 'UserCreated'>, 'createdAt' | 'organisationIds'> {
  /** The attempt that created the account at the identity provider. */
  readonly attemptId: string
  readonly membership: Omit<DataOf<UserEvent, 'UserMembershipAdded'>, 'userId' | 'addedAt' | 'changedBy'> | null
  readonly now: Date
}

/** Refused after the attempt was abandoned: its account is about to be removed. */
export function createUser(
  { now, attemptId, membership, ...data }: CreateUser,
  state: UserState,
): Decision<UserEvent, 'registration-under-way'> {
  if (state.status !== 'registering' || state.attemptId !== attemptId) return refused('registration-under-way')
  const { userId, changedBy } = data
  const createdAt = now.toISOString()
  const added = membership && { ...membership, userId, addedAt: createdAt, changedBy }
  const organisationIds = membership === null ? [] : [membership.organisationId]
  return [
    { type: 'UserCreated', data: { ...data, organisationIds, createdAt } },
    ...(added === null ? [] : [{ type: 'UserMembershipAdded' as const, data: added }]),
  ]
}

export interface AbandonRegistration {
  /** The attempt that gives up; null for a process, which waits until the lease has ended. */
  readonly attemptId: string | null
  readonly reason: DataOf<UserEvent, 'UserRegistrationAbandoned'>['reason']
  readonly now: Date
}

/** From now on the attempt cannot complete, so its account may be removed. */
export function abandonRegistration(
  { attemptId, reason, now }: AbandonRegistration,
  state: UserState,
): Decision<UserEvent> {
  if (state.status !== 'registering') return []
  const isOwn = state.attemptId === attemptId
  if (!isOwn && openLeaseEnd(state.leaseUntil, now) !== null) return []
  return [{ type: 'UserRegistrationAbandoned', data: { userId: state.userId, reason, abandonedAt: now.toISOString() } }]
}

export interface AttemptClearing {
  readonly attemptId: string
  readonly leaseUntil: Date
  readonly now: Date
  readonly endedLeases?: readonly string[]
}

/** Comes before the account is deleted: a registration that starts meanwhile would lose its account. */
export function attemptClearing(
  { attemptId, leaseUntil, now, endedLeases = [] }: AttemptClearing,
  state: UserState,
): Decision<UserEvent> {
  if (!isAbandoned(state) || state.isCleared || clearingUntil(state, now, endedLeases) !== null) return []
  const times = { attemptedAt: now.toISOString(), leaseUntil: leaseUntil.toISOString() }
  return [{ type: 'UserRegistrationClearAttempted', data: { userId: state.userId, attemptId, ...times } }]
}

/** After the identity provider has no account for the user. */
export function clearRegistration(
  { attemptId, now }: Pick<AttemptClearing, 'attemptId' | 'now'>,
  state: UserState,
): Decision<UserEvent> {
  if (!isAbandoned(state) || state.clearing?.attemptId !== attemptId) return []
  return [{ type: 'UserRegistrationCleared', data: { userId: state.userId, clearedAt: now.toISOString() } }]
}

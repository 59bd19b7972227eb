import type { UserState } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import { openLeaseEnd, refused, repeated, type Decision } from '../handling/decision.ts'

type DataOf<Type extends UserEvent['type']> = Extract<UserEvent, { type: Type }>['data']

export interface StartRegistration extends Omit<DataOf<'UserRegistrationStarted'>, 'startedAt' | 'leaseUntil'> {
  readonly leaseUntil: Date
  readonly now: Date
}

/** Comes before the identity provider creates the account. Only a repeat of the same key meets an earlier attempt. */
export function startRegistration(
  { now, leaseUntil, ...command }: StartRegistration,
  state: UserState,
): Decision<UserEvent, 'registration-under-way' | 'idempotency-key-reused'> {
  if ('externalId' in state) return repeated(command, state)
  if (state.status === 'registering' || (state.status === 'abandoned' && !state.isCleared))
    return refused('registration-under-way')
  if (state.status === 'abandoned' && state.fingerprint !== command.fingerprint)
    return refused('idempotency-key-reused')
  const times = { startedAt: now.toISOString(), leaseUntil: leaseUntil.toISOString() }
  return [{ type: 'UserRegistrationStarted', data: { ...command, ...times } }]
}

export interface CreateUser extends Omit<DataOf<'UserCreated'>, 'createdAt' | 'organisationIds'> {
  /** The attempt that created the account at the identity provider. */
  readonly attemptId: string
  readonly membership: Omit<DataOf<'UserMembershipAdded'>, 'userId' | 'addedAt' | 'changedBy'> | null
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
  readonly reason: DataOf<'UserRegistrationAbandoned'>['reason']
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

/** After the identity provider has no account for the user. */
export function clearRegistration({ now }: { readonly now: Date }, state: UserState): Decision<UserEvent> {
  if (state.status !== 'abandoned' || state.isCleared) return []
  return [{ type: 'UserRegistrationCleared', data: { userId: state.userId, clearedAt: now.toISOString() } }]
}

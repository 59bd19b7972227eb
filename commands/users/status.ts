import { isUser, type User, type UserState } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import { refused, type Decision } from '../handling/decision.ts'

export type UserStatus = 'active' | 'suspended' | 'deactivated'

export interface ChangeStatus {
  readonly to: UserStatus
  readonly changedBy: string
  readonly now: Date
}

const eventOf = { active: 'UserReactivated', suspended: 'UserSuspended', deactivated: 'UserDeactivated' } as const

/** The moves of contract section 3, line 258. The same status again is no event. */
export function changeStatus(
  { to, changedBy, now }: ChangeStatus,
  state: UserState,
): Decision<UserEvent, 'not-found' | 'invalid-status-transition'> {
  if (!isUser(state)) return refused('not-found')
  if (state.status === to) return []
  if (state.status === 'deactivated' && to === 'suspended') return refused('invalid-status-transition')
  return [{ type: eventOf[to], data: statusData(state, changedBy, now) }]
}

/** Only a deactivated user is erased: a mistake is noticed while it can be undone. Erased again, nothing changes. */
export function eraseUser(
  { changedBy, now }: Omit<ChangeStatus, 'to'>,
  state: UserState,
): Decision<UserEvent, 'not-found' | 'user-not-deactivated'> {
  if (state.status === 'erased') return []
  if (!isUser(state)) return refused('not-found')
  if (state.status !== 'deactivated') return refused('user-not-deactivated')
  return [{ type: 'UserErased', data: statusData(state, changedBy, now) }]
}

function statusData({ userId, externalId, memberships }: User, changedBy: string, now: Date) {
  const organisationIds = [...memberships.values()].map((one) => one.organisationId)
  return { userId, externalId, organisationIds, changedAt: now.toISOString(), changedBy }
}

/** After the identity provider has given the account this state. */
export function alignAccount(
  { account, now }: { readonly account: User['account']; readonly now: Date },
  state: UserState,
): Decision<UserEvent> {
  if (!('externalId' in state) || state.account === account) return []
  return [{ type: 'UserAccountAligned', data: { userId: state.userId, account, alignedAt: now.toISOString() } }]
}

/** The state that the account at the identity provider should have. */
export function wantedAccount({ status }: User): User['account'] {
  return status === 'active' ? 'enabled' : status === 'erased' ? 'deleted' : 'disabled'
}

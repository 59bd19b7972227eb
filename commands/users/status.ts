import { isDeepStrictEqual } from 'node:util'
import { isUser, type AccountState, type User, type UserState } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'

export type UserStatus = 'active' | 'suspended' | 'deactivated'

export interface ChangeStatus {
  readonly to: UserStatus
  /** The hold that the organisations of an active user got for this change (`organisation-membership.ts`). */
  readonly holdId: string
  readonly changedBy: string
  readonly now: Date
}

const eventOf = { active: 'UserReactivated', suspended: 'UserSuspended', deactivated: 'UserDeactivated' } as const

/** The moves that specification 3.4 leaves open. The same status again is no event. */
export function changeStatus(
  { to, holdId, changedBy, now }: ChangeStatus,
  state: UserState,
): Decision<UserEvent, 'not-found' | 'invalid-status-transition' | 'hold-expired'> {
  if (!isUser(state)) return refused('not-found')
  if (state.status === to) return []
  if (state.status === 'deactivated' && to === 'suspended') return refused('invalid-status-transition')
  if (state.expiredHolds.includes(holdId)) return refused('hold-expired')
  return [{ type: eventOf[to], data: statusData(state, state.holdId ?? holdId, changedBy, now) }]
}

/** A change of status or address that never happened loses its hold or claim. Afterwards it cannot happen any more. */
export function expireHold(
  { holdId, now }: { readonly holdId: string; readonly now: Date },
  state: UserState,
): Decision<UserEvent> {
  if (!('externalId' in state) || state.holdId === holdId || state.expiredHolds.includes(holdId)) return []
  return [{ type: 'UserHoldExpired', data: { userId: state.userId, holdId, expiredAt: now.toISOString() } }]
}

/** Only a deactivated user is erased: a mistake is noticed while it can be undone. Erased again, nothing changes. */
export function startErasure(
  { changedBy, now }: Pick<ChangeStatus, 'changedBy' | 'now'>,
  state: UserState,
): Decision<UserEvent, 'not-found' | 'user-not-deactivated'> {
  if (state.status === 'erased') return []
  if (!isUser(state)) return refused('not-found')
  if (state.status !== 'deactivated' || state.holdId === null) return refused('user-not-deactivated')
  return [{ type: 'UserErasureStarted', data: statusData(state, state.holdId, changedBy, now) }]
}

/**
 * The ledger has the erasure, and the log lacks it: it comes from a backup from before. So the status of the user does
 * not matter. `holdId` counts for a user who was active.
 */
export function startErasureAgain(
  { holdId, changedBy, now }: Omit<ChangeStatus, 'to'>,
  state: UserState,
): Decision<UserEvent> {
  if (!isUser(state)) return []
  return [{ type: 'UserErasureStarted', data: statusData(state, state.holdId ?? holdId, changedBy, now) }]
}

/** Whether only the key is left of the user: memberships and the account are gone. */
export function mayDestroyKey(state: UserState): boolean {
  return 'externalId' in state && state.erasure?.reached === 'started' && state.account === 'deleted'
}

/** After the key. Once. */
export function recordKeyDestroyed({ now }: { readonly now: Date }, state: UserState): Decision<UserEvent> {
  if (!('externalId' in state) || !mayDestroyKey(state)) return []
  return [{ type: 'UserKeyDestroyed', data: { userId: state.userId, destroyedAt: now.toISOString() } }]
}

/** The last event. Once. */
export function endErasure({ now }: { readonly now: Date }, state: UserState): Decision<UserEvent> {
  if (!('externalId' in state) || state.erasure?.reached !== 'key_destroyed' || state.holdId === null) return []
  const data = statusData(state, state.holdId, state.erasure.startedBy, now)
  return [{ type: 'UserErased', data: { ...data, organisationIds: [...state.formerOrganisationIds] } }]
}

function statusData({ userId, externalId, memberships }: User, holdId: string, changedBy: string, now: Date) {
  const organisationIds = [...memberships.values()].map((one) => one.organisationId)
  return { userId, externalId, organisationIds, holdId, changedAt: now.toISOString(), changedBy }
}

/**
 * Records that the account at the identity provider has this state and this profile. Records nothing if the user changed
 * meanwhile and the account has to follow again.
 */
export function alignAccount(
  { account, now }: { readonly account: WantedAccount; readonly now: Date },
  state: UserState,
): Decision<UserEvent> {
  if (!('externalId' in state) || state.account !== null || !isDeepStrictEqual(wantedAccount(state), account)) return []
  const data = { userId: state.userId, account: account.state, alignedAt: now.toISOString() }
  return [{ type: 'UserAccountAligned', data }]
}

export type WantedAccount = Pick<User, 'userId' | 'email' | 'displayName' | 'locale'> & { readonly state: AccountState }

/** What the account at the identity provider should have. */
export function wantedAccount({ status, userId, email, displayName, locale }: User): WantedAccount {
  const state = status === 'active' ? 'enabled' : status === 'erased' ? 'deleted' : 'disabled'
  return { userId, state, email, displayName, locale }
}

import type { TenantId } from '../../platform/kit/tenants.ts'
import { isUser, type User, type UserState } from '../../streams/user/aggregate.ts'
import { refused, type Refusal } from '../handling/decision.ts'

/** Who administers a user. */
export interface UserAdministration {
  /** Null: a platform caller that names no organisation. */
  readonly tenant: TenantId | null
  /** A platform caller, or the user itself: may change a user that other organisations share. */
  readonly mayChangeShared: boolean
}

/** Null if the caller sees the user. */
export function maySee(tenant: TenantId | null, state: UserState): Refusal<'not-found' | 'user-erased'> | null {
  if (!('externalId' in state)) return refused('not-found')
  if (!isUser(state))
    return refused(tenant === null || state.formerOrganisationIds.includes(tenant) ? 'user-erased' : 'not-found')
  return tenant === null || organisationsOf(state).includes(tenant) ? null : refused('not-found')
}

export type UserRefusal = 'not-found' | 'user-erased' | 'user-shared'

/** Null if the caller may change the user as a whole. */
export function mayAdminister(
  { tenant, mayChangeShared }: UserAdministration,
  state: UserState,
): Refusal<UserRefusal> | null {
  const unseen = maySee(tenant, state)
  if (unseen !== null || mayChangeShared || !isUser(state)) return unseen
  return organisationsOf(state).some((one) => one !== tenant) ? refused('user-shared') : null
}

function organisationsOf({ memberships }: User): readonly TenantId[] {
  return [...memberships.values()].map((one) => one.organisationId)
}

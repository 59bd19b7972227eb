import { problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { organisationRoles } from '../../streams/organisation-roles/aggregate.ts'
import { isUser, type User, type UserState } from '../../streams/user/aggregate.ts'
import { refused, type Refusal } from '../../engine/commands/decision.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { reachesBeyond, refusedToGrant, restrictedProblem, type Grantor } from './restricted-permission.ts'

/** Who administers a user. */
export interface UserAdministration {
  /** Null: a platform caller that names no organisation. */
  readonly tenant: TenantId | null
  /** A platform caller, or the user itself: may change a user that other organisations share. */
  readonly mayChangeShared: boolean
  readonly grantor: Grantor
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

/**
 * Address, password and status of a user decide who acts with the user's permissions. So the caller must be allowed to
 * grant each of the user's roles, whatever the user's status is.
 *
 * @throws Problem `permission-missing`; `user-shared` for a role of an organisation that the caller does not see
 */
export async function requireAuthorityOver(
  { store }: Pick<CommandDependencies, 'store'>,
  administration: UserAdministration,
  state: UserState,
): Promise<void> {
  const { tenant, grantor } = administration
  // The decision refuses for other reasons first: these must not depend on roles that the caller does not see.
  if (grantor === 'platform' || !isUser(state) || mayAdminister(administration, state) !== null) return
  for (const { membershipId, organisationId } of state.memberships.values()) {
    const { state: organisation } = await store.load(organisationRoles.of(organisationId))
    const role = organisation.roles.get(organisation.assignments.get(membershipId)?.roleId ?? '')
    if (!reachesBeyond(role)) continue
    if (organisationId !== tenant) throw problem('user-shared')
    const restriction = refusedToGrant(grantor, role)
    if (restriction !== null) throw restrictedProblem(restriction)
  }
}

function organisationsOf({ memberships }: User): readonly TenantId[] {
  return [...memberships.values()].map((one) => one.organisationId)
}

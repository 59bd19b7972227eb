import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  toUserDetailRecord,
  toUserRecord,
  type MembershipRecord,
  type UserDetailRecord,
  type UserRecord,
} from '../../contracts/users/record.ts'
import { organisationRoles } from '../../streams/organisation-roles/aggregate.ts'
import type { User, UserMembership } from '../../streams/user/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'

type ShownUser = User & { readonly status: 'active' | 'suspended' | 'deactivated' }

/** The record of a user that is not erased. */
export function userRecordOf(user: User): UserRecord {
  return toUserRecord(shown(user))
}

/** The user with those memberships that the caller may see: all, or that of one organisation. */
export async function userDetailOf(
  deps: Pick<CommandDependencies, 'store'>,
  user: User,
  tenant: TenantId | null,
): Promise<UserDetailRecord> {
  const seen = [...user.memberships.values()].filter((one) => tenant === null || one.organisationId === tenant)
  return toUserDetailRecord(
    shown(user),
    await Promise.all(seen.map((membership) => membershipRecordOf(deps, user.userId, membership))),
  )
}

/** The role is in the organisation's stream. */
export async function membershipRecordOf(
  { store }: Pick<CommandDependencies, 'store'>,
  userId: string,
  { membershipId, organisationId, addedAt, products }: UserMembership,
): Promise<MembershipRecord> {
  const { state } = await store.load(organisationRoles.of(organisationId))
  const role = state.roles.get(state.assignments.get(membershipId)?.roleId ?? '')
  if (role === undefined) throw new Error('a membership has no role')
  return {
    id: membershipId,
    userId,
    organisationId,
    roleId: role.roleId,
    role: { id: role.roleId, name: role.name },
    products: [...products.keys()].toSorted(),
    createdAt: addedAt,
  }
}

function shown(user: User): ShownUser {
  const { status } = user
  if (status === 'erased') throw new Error('an erased user has no record')
  return { ...user, status }
}

import { problem } from '../../platform/http/problems.ts'
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
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'

type ShownUser = User & { readonly status: 'active' | 'suspended' | 'deactivated' }

/** @throws Problem `user-erased` */
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
  const records = await Promise.all(seen.map((membership) => assignedRecordOf(deps, user.userId, membership)))
  return toUserDetailRecord(
    shown(user),
    records.filter((record) => record !== null),
  )
}

/** @throws Problem `not-found` for a membership that the organisation has ended */
export async function membershipRecordOf(
  deps: Pick<CommandDependencies, 'store'>,
  userId: string,
  membership: UserMembership,
): Promise<MembershipRecord> {
  const record = await assignedRecordOf(deps, userId, membership)
  if (record === null) throw problem('not-found')
  return record
}

/** The role is in the organisation's stream. Null if the membership ended there and the user's stream follows. */
async function assignedRecordOf(
  { store }: Pick<CommandDependencies, 'store'>,
  userId: string,
  { membershipId, organisationId, addedAt, products }: UserMembership,
): Promise<MembershipRecord | null> {
  const { state } = await store.load(organisationRoles.of(organisationId))
  const role = state.roles.get(state.assignments.get(membershipId)?.roleId ?? '')
  if (role === undefined) return null
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
  // The repeat of a create may come after the erasure.
  if (status === 'erased') throw problem('user-erased')
  return { ...user, status }
}

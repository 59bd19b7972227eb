import { comparedName } from '../../platform/kit/compared-name.ts'
import type { OrganisationRolesState, Role } from '../../streams/organisation-roles/aggregate.ts'
import type { OrganisationRolesEvent } from '../../streams/organisation-roles/events.ts'
import { refused, repeated, type Decision } from '../../engine/commands/decision.ts'
import { administers, administratorsOf } from './administrators.ts'
import { refusedToAdd, refusedToGrant, type Grantor, type RestrictedRefusal } from './restricted-permission.ts'
import type { DataOf } from '../../engine/store/events.ts'

export interface CreateRole extends Omit<
  DataOf<OrganisationRolesEvent, 'RoleCreated'>,
  'previousDefaultRoleId' | 'createdAt'
> {
  readonly grantor: Grantor
  readonly now: Date
}

/** Every change in the organisation reads its roles. */
const mostRoles = 500

/** The organisation's one stream decides names and the default role. */
export function createRole(
  { now, grantor, ...role }: CreateRole,
  state: OrganisationRolesState,
): Decision<
  OrganisationRolesEvent,
  'role-name-in-use' | 'role-limit' | 'role-deleted' | RestrictedRefusal | 'idempotency-key-reused'
> {
  const existing = state.roles.get(role.roleId)
  if (existing !== undefined) return repeated(role, existing)
  if (state.deletedRoles.has(role.roleId)) return refused('role-deleted')
  const restriction = refusedToAdd(grantor, role)
  if (restriction !== null) return restriction
  if (isNameTaken(role, state)) return refused('role-name-in-use')
  if (state.roles.size >= mostRoles) return refused('role-limit')
  const previousDefaultRoleId = role.isDefault ? (defaultRoleOf(state)?.roleId ?? null) : null
  const permissions = sortedOnce(role.permissions)
  return [{ type: 'RoleCreated', data: { ...role, permissions, previousDefaultRoleId, createdAt: now.toISOString() } }]
}

export interface ChangeRole {
  readonly roleId: string
  /** Undefined members stay as they are. */
  readonly name?: string | undefined
  readonly description?: string | null | undefined
  readonly isDefault?: boolean | undefined
  readonly permissions?: readonly string[] | undefined
  readonly grantor: Grantor
  readonly changedBy: string
  readonly now: Date
}

/**
 * Removing `users:admin` from a role is refused if all administrators of the organisation have this role. A request
 * that names no role assigns the default role. So making a role the default grants its permissions, and needs the right
 * to grant them.
 */
export function changeRole(
  command: ChangeRole,
  state: OrganisationRolesState,
): Decision<OrganisationRolesEvent, 'not-found' | 'role-name-in-use' | RestrictedRefusal | 'last-administrator'> {
  const before = state.roles.get(command.roleId)
  if (before === undefined) return refused('not-found')
  const { name = before.name, description = before.description, isDefault = before.isDefault } = command
  const permissions = sortedOnce(command.permissions ?? before.permissions)
  const addedPermissions = permissions.filter((one) => !before.permissions.includes(one))
  const removedPermissions = before.permissions.filter((one) => !permissions.includes(one))
  const isSame =
    name === before.name &&
    description === before.description &&
    isDefault === before.isDefault &&
    addedPermissions.length + removedPermissions.length === 0
  if (isSame) return []
  const { grantor } = command
  const isGranting = isDefault && !before.isDefault
  const restriction =
    refusedToAdd(grantor, { permissions: addedPermissions }) ??
    refusedToGrant(grantor, { permissions: isGranting ? [...permissions, ...removedPermissions] : removedPermissions })
  if (restriction !== null) return restriction
  if (isNameTaken({ roleId: before.roleId, name }, state)) return refused('role-name-in-use')
  if (administers(before) && !permissions.includes('users:admin')) {
    const isHeld = administratorsOf(state).some((one) => one.roleId === before.roleId)
    if (isHeld && administratorsOf(state).every((one) => one.roleId === before.roleId))
      return refused('last-administrator')
  }
  const previous = isDefault && !before.isDefault ? defaultRoleOf(state) : undefined
  const { roleId, organisationId } = before
  const { changedBy, now } = command
  const data = {
    roleId,
    organisationId,
    name,
    description,
    isDefault,
    permissions,
    addedPermissions,
    removedPermissions,
  }
  return [
    {
      type: 'RoleChanged',
      data: { ...data, previousDefaultRoleId: previous?.roleId ?? null, changedAt: now.toISOString(), changedBy },
    },
  ]
}

/** An assignment that is not confirmed yet uses the role too. */
export function deleteRole(
  { roleId, changedBy, now }: { readonly roleId: string; readonly changedBy: string; readonly now: Date },
  state: OrganisationRolesState,
): Decision<OrganisationRolesEvent, 'not-found' | 'role-in-use'> {
  const role = state.roles.get(roleId)
  if (role === undefined) return refused('not-found')
  if ([...state.assignments.values()].some((one) => one.roleId === roleId)) return refused('role-in-use')
  const { organisationId } = role
  return [{ type: 'RoleDeleted', data: { roleId, organisationId, deletedAt: now.toISOString(), changedBy } }]
}

export function defaultRoleOf(state: OrganisationRolesState): Role | undefined {
  return [...state.roles.values()].find((role) => role.isDefault)
}

/** Another role has the name. */
function isNameTaken({ roleId, name }: Pick<Role, 'roleId' | 'name'>, state: OrganisationRolesState): boolean {
  const compared = comparedName(name)
  return [...state.roles.values()].some((role) => role.roleId !== roleId && comparedName(role.name) === compared)
}

function sortedOnce(permissions: readonly string[]): string[] {
  return [...new Set(permissions)].toSorted()
}

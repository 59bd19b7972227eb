import type { OrganisationRolesState, Role, RoleAssignment } from '../../streams/organisation-roles/aggregate.ts'

/** The permission whose last active holder in an organisation stays (specification 3.4). */
export const administratorPermission = 'users:admin'

export function administers(role: Pick<Role, 'permissions'> | undefined): boolean {
  return role?.permissions.includes(administratorPermission) ?? false
}

/**
 * Active members whose role administers users. A member whose own stream may not have the membership yet does not
 * count: otherwise a crash could leave an organisation with an administrator that does not exist.
 */
export function administratorsOf({ roles, assignments }: OrganisationRolesState): readonly RoleAssignment[] {
  return [...assignments.values()].filter(
    ({ isConfirmed, holds, roleId }) => isConfirmed && holds.size === 0 && administers(roles.get(roleId)),
  )
}

/** Nobody but this member administers the organisation. */
export function isLastAdministrator(state: OrganisationRolesState, membershipId: string): boolean {
  const administrators = administratorsOf(state)
  return administrators.length === 1 && administrators[0]?.membershipId === membershipId
}

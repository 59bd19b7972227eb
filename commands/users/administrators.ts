import type { OrganisationRolesState, Role, RoleAssignment } from '../../streams/organisation-roles/aggregate.ts'

/** The permission whose last active holder in an organisation stays (specification 3.4). */
export const administratorPermission = 'users:admin'

export function administers(role: Pick<Role, 'permissions'> | undefined): boolean {
  return role?.permissions.includes(administratorPermission) ?? false
}

/**
 * Members whose role administers users, whose membership is confirmed, and who are not about to be suspended or
 * deactivated. After a crash an unconfirmed membership may be missing in the stream of its user. If it counted, the
 * last real administrator could be removed.
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

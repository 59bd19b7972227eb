import type { Caller } from '../../platform/http/access.ts'
import { problem, type Problem } from '../../platform/http/problems.ts'
import type { Role } from '../../streams/organisation-roles/aggregate.ts'
import { refused, type Refusal } from '../../engine/commands/decision.ts'

/**
 * Holders of this permission register clients, so it reaches beyond the users of an organisation. Only platform callers
 * add it to a role. Only its holders and platform callers may assign a role that contains it, or change the address,
 * password or status of a user who has such a role.
 */
export const restrictedPermission = 'auth:admin'

/**
 * Holders see the whole installation, so no organisation decides about them: only platform callers add these permissions
 * to a role, assign or take away such a role, or change the address, password or status of a user who has one.
 */
export const operatorPermissions: readonly string[] = ['operations:read', 'operations:write']

/** Who grants: a platform caller, an actor with the restricted permission in the organisation, or anybody else. */
export type Grantor = 'platform' | 'holder' | 'other'

export function grantorOf({ isPlatformWide, caller }: { isPlatformWide: boolean; caller: Caller }): Grantor {
  if (isPlatformWide) return 'platform'
  return caller.actor?.permissions.has(restrictedPermission) === true ? 'holder' : 'other'
}

export type RestrictedRefusal = 'restricted-permission' | 'operator-permission'

type Permissions = Pick<Role, 'permissions'> | undefined

/** Why the grantor may not put these permissions into a role. Null if it may. */
export function refusedToAdd(grantor: Grantor, role: Permissions): Refusal<RestrictedRefusal> | null {
  if (grantor === 'platform') return null
  if (isOfOperators(role)) return refused('operator-permission')
  return isRestricted(role) ? refused('restricted-permission') : null
}

/** Why the grantor may not give or take a role, or decide about a user who has it. Null if it may. */
export function refusedToGrant(grantor: Grantor, role: Permissions): Refusal<RestrictedRefusal> | null {
  return grantor === 'holder' && !isOfOperators(role) ? null : refusedToAdd(grantor, role)
}

/** Whether a role reaches beyond its organisation. */
export function reachesBeyond(role: Permissions): boolean {
  return isRestricted(role) || isOfOperators(role)
}

function isRestricted(role: Permissions): boolean {
  return role?.permissions.includes(restrictedPermission) ?? false
}

function isOfOperators(role: Permissions): boolean {
  return role?.permissions.some((one) => operatorPermissions.includes(one)) ?? false
}

/** The answers of routes to the refusals of a decision. */
export const restrictedAnswer = {
  'restricted-permission': {
    code: 'permission-missing',
    detail: `A role with ${restrictedPermission} is involved. Only its holders and platform callers may do this.`,
    extensions: { required_permission: restrictedPermission },
  },
  'operator-permission': {
    code: 'permission-missing',
    detail: `A role with ${operatorPermissions.join(' or ')} is involved. Only platform callers may do this.`,
    extensions: { required_permission: 'operations:write' },
  },
} as const

export function restrictedProblem({ refused: name }: Refusal<RestrictedRefusal>): Problem {
  const { code, ...details } = restrictedAnswer[name]
  return problem(code, details)
}

import type { Caller } from '../../platform/http/access.ts'
import { problem, type Problem } from '../../platform/http/problems.ts'
import type { Role } from '../../streams/organisation-roles/aggregate.ts'

/**
 * Reaches beyond the users of an organisation: its holders register clients. So only platform callers put it in a role,
 * and whoever lacks it neither assigns such a role nor changes who can sign in with one.
 */
export const restrictedPermission = 'auth:admin'

/** Who grants: a platform caller, an actor with the restricted permission in the organisation, or anybody else. */
export type Grantor = 'platform' | 'holder' | 'other'

export function grantorOf({ isPlatformWide, caller }: { isPlatformWide: boolean; caller: Caller }): Grantor {
  if (isPlatformWide) return 'platform'
  return caller.actor?.permissions.has(restrictedPermission) === true ? 'holder' : 'other'
}

export function isRestricted(role: Pick<Role, 'permissions'> | undefined): boolean {
  return role?.permissions.includes(restrictedPermission) ?? false
}

const details = {
  detail: `A role with ${restrictedPermission} is involved. Only its holders and platform callers may do this.`,
  extensions: { required_permission: restrictedPermission },
} as const

/** The answer of routes to the refusal of a decision. */
export const restrictedAnswer = { 'restricted-permission': { code: 'permission-missing', ...details } } as const

export function restrictedProblem(): Problem {
  return problem('permission-missing', details)
}

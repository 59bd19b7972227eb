import type { Caller } from '../../platform/http/access.ts'
import { problem, type Problem } from '../../platform/http/problems.ts'
import type { Role } from '../../streams/organisation-roles/aggregate.ts'

/**
 * Holders of this permission register clients, so it reaches beyond the users of an organisation. Only platform callers
 * add it to a role. Only its holders and platform callers may assign a role that contains it, or change the address,
 * password or status of a user who has such a role.
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

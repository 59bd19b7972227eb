import { noOrganisation, type TenantId } from '../kit/tenants.ts'
import { administersByScope, tenantOf, type Access, type Caller } from './access.ts'
import { Problem, problem } from './problems.ts'

/**
 * Whether each request of a route must have an organisation. `or-none`: a platform client that names none, and has no
 * actor, means the records that belong to no organisation.
 */
export type Tenancy = 'required' | 'optional' | 'or-none'

/** The organisation of a request; null where the tenancy is optional and a platform caller names none. */
export type TenantFor<Kind extends Tenancy> = {
  required: TenantId
  optional: TenantId | null
  'or-none': TenantId
}[Kind]

/** The organisation of a request to a route of this tenancy. */
export function tenantFor<Kind extends Tenancy>(
  tenancy: Kind | undefined,
  caller: Caller,
  access: Access,
  named?: string,
): TenantFor<Kind> {
  const isUnnamed = (caller.orgId ?? caller.actor?.orgId ?? named) === undefined
  const tenant =
    tenancy === 'optional'
      ? tenantIfNamed(caller, access, named)
      : tenancy === 'or-none' && isUnnamed
        ? noOrganisation
        : tenantOf(caller, named)
  // Null only where the tenancy is optional.
  return tenant as TenantFor<Kind>
}

/**
 * Whether the caller acts for every organisation: the administrator secret, or a token without an organisation. A
 * permission of an actor reaches only as far as the actor's organisation, also behind such a token: otherwise an
 * administrator of one organisation would administer all others through a product that serves several.
 */
export function isPlatformWide(caller: Caller, access: Access): boolean {
  if (caller.isBootstrapAdmin) return true
  if (caller.orgId !== null) return false
  if (typeof access !== 'object' || !('admin' in access)) return true
  return administersByScope(caller, access)
}

/** For a record that does not exist without an organisation: it may exist in one that the caller did not name. */
export function askingForOrganisation(tenant: TenantId): (error: unknown) => never {
  return (error) => {
    const isUnknown = error instanceof Problem && error.code === 'not-found'
    throw tenant === noOrganisation && isUnknown ? problem('org-required') : error
  }
}

/** The organisation of a request whose route does not need one: as `tenantOf`, or null if a platform caller names none. */
export function tenantIfNamed(caller: Caller, access: Access, named?: string): TenantId | null {
  if (!isPlatformWide(caller, access)) return tenantOf(caller, named)
  return caller.orgId === null && named === undefined ? null : tenantOf({ ...caller, actor: null }, named)
}

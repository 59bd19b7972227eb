import type { TenantId } from '../kit/tenants.ts'
import { administersByScope, tenantOf, type Access, type Caller } from './access.ts'

/** Whether each request of a route must have an organisation. */
export type Tenancy = 'required' | 'optional'

/** The organisation of a request; null where the tenancy is optional and a platform caller names none. */
export type TenantFor<Kind extends Tenancy> = { required: TenantId; optional: TenantId | null }[Kind]

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

/** The organisation of a request whose route does not need one: as `tenantOf`, or null if a platform caller names none. */
export function tenantIfNamed(caller: Caller, access: Access, named?: string): TenantId | null {
  if (!isPlatformWide(caller, access)) return tenantOf(caller, named)
  return caller.orgId === null && named === undefined ? null : tenantOf({ ...caller, actor: null }, named)
}

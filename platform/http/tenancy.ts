import type { TenantId } from '../kit/tenants.ts'
import { tenantOf, type Access, type Caller } from './access.ts'

/** Whether each request of a route must have an organisation. */
export type Tenancy = 'required' | 'optional'

/** The organisation of a request; null where the tenancy is optional and a platform caller names none. */
export type TenantFor<Kind extends Tenancy> = { required: TenantId; optional: TenantId | null }[Kind]

/**
 * Whether the caller acts for every organisation: the administrator secret, or a token without an organisation. Where a
 * route takes a scope or a permission, a permission reaches as far as the actor's organisation only.
 */
export function isPlatformWide(caller: Caller, access: Access): boolean {
  if (caller.isBootstrapAdmin) return true
  if (caller.orgId !== null) return false
  const orScope = typeof access === 'object' && 'admin' in access ? access.orScope : undefined
  return orScope === undefined || caller.scopes.has(orScope)
}

/** The organisation of a request whose route does not need one: as `tenantOf`, or null if a platform caller names none. */
export function tenantIfNamed(caller: Caller, access: Access, named?: string): TenantId | null {
  if (!isPlatformWide(caller, access)) return tenantOf(caller, named)
  return caller.orgId === null && named === undefined ? null : tenantOf({ ...caller, actor: null }, named)
}

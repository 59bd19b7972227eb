declare const tenant: unique symbol

/**
 * The organisation in whose name something is read or written. Queries take only this type, so that a tenant can be
 * neither forgotten nor taken from a request unchecked: `tenantOf` makes it of a request's caller.
 */
export type TenantId = string & { readonly [tenant]: true }

/** For an id that was checked: a caller's own, or that of a fact. */
export function tenantOfFact(orgId: string): TenantId {
  return orgId as TenantId
}

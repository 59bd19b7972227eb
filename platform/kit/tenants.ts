declare const tenant: unique symbol

/**
 * The organisation of a read or write. Queries accept only this type. So a tenant can neither be forgotten nor come
 * unchecked from a request: `tenantOf` derives it from a request's caller.
 */
export type TenantId = string & { readonly [tenant]: true }

/** For a checked id: a caller's own, or that of an event. */
export function tenantOfFact(orgId: string): TenantId {
  return orgId as TenantId
}

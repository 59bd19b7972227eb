declare const tenant: unique symbol

/**
 * The organisation in whose name something is read or written. Queries and stream names take only this type, so that a
 * tenant can be neither forgotten nor taken from a request unchecked: `tenantOf` makes it for requests, `tenantOfFact`
 * for processes.
 */
export type TenantId = string & { readonly [tenant]: true }

/** The same type, where the text speaks of an organisation. */
export type OrgId = TenantId

/** The tenant of a stored fact, for processes and projectors: its organisation was checked when it was recorded. */
export function tenantOfFact(orgId: string): TenantId {
  return orgId as TenantId
}

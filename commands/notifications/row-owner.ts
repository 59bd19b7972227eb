import { invalidMember, problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

interface OwnedRequest {
  /** Of the token, the query or the body. */
  readonly tenant: TenantId | null
  readonly isPlatformWide: boolean
}

/**
 * The organisation of a row that a request writes; null for a row of the platform, which counts for every organisation.
 * Only platform callers write those, and they must name the owner: an omitted one would hit every organisation.
 *
 * @param named the member `orgId` of the body
 */
export function ownerOf({ tenant, isPlatformWide }: OwnedRequest, named: string | null | undefined): TenantId | null {
  if (named === null && !isPlatformWide) throw problem('platform-client-required')
  if (named === null && tenant !== null)
    throw invalidMember('/orgId', 'must not differ from the organisation that the request names', 'ambiguous')
  if (named === undefined && tenant === null) throw problem('org-required')
  return tenant
}

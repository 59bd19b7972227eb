import { invalidMember, problem } from '../../platform/http/problems.ts'
import { noOrganisation, type TenantId } from '../../platform/kit/tenants.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { DomainEvent, Target } from '../../engine/store/events.ts'

interface OwnedRequest {
  /** Of the token, the query or the body. */
  readonly tenant: TenantId | null
  readonly isPlatformWide: boolean
}

/**
 * The organisation that owns the row of a request. Null for a row of the platform, which applies to every organisation.
 * Only platform callers write rows of the platform. They must name the owner, because a request without it would affect
 * every organisation.
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

interface Existing<State extends { readonly status: string }, Event extends DomainEvent> {
  readonly store: EventStore
  readonly streamOf: (owner: TenantId, id: string) => Target<State, Event>
  /** From a read model that contains everything recorded until now. Throws Problem `not-found`. */
  readonly findOwner: (id: string) => Promise<TenantId>
}

/**
 * The owner of an existing row. Organisations see the rows of the platform, and cannot change them.
 * @param orgId of the body. It selects the row, and does not move it
 * @throws Problem `not-found`, `platform-client-required`
 */
export async function ownerOfExisting<State extends { readonly status: string }, Event extends DomainEvent>(
  { store, streamOf, findOwner }: Existing<State, Event>,
  asking: OwnedRequest,
  id: string,
  orgId?: string | null,
): Promise<TenantId> {
  const { tenant, isPlatformWide } = asking
  if (orgId === null) return ownerOf(asking, null) ?? noOrganisation
  if (tenant === null) return findOwner(id)
  if (isPlatformWide || (await store.loadCached(streamOf(tenant, id))).state.status !== 'absent') return tenant
  const { state } = await store.load(streamOf(noOrganisation, id))
  if (state.status === 'existing') throw problem('platform-client-required')
  return tenant
}

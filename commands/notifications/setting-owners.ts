import { invalidMember, problem } from '../../platform/http/problems.ts'
import { noOrganisation, type TenantId } from '../../platform/kit/tenants.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import type { DomainEvent, Target } from '../../streams/store/events.ts'

/** The organisation that a request names, and how far its caller reaches. */
interface Asking {
  /** Null: a platform caller that names no organisation. */
  readonly tenant: TenantId | null
  readonly isPlatformWide: boolean
}

/**
 * The owner of a new row, `noOrganisation` for one of the platform. Platform callers must name it in the body; null is
 * the platform (contract-2, C13).
 * @param orgId of the body
 * @throws Problem `org-required`, `platform-client-required`, `validation-failed`
 */
export function ownerOfNew({ tenant, isPlatformWide }: Asking, orgId: string | null | undefined): TenantId {
  if (orgId === null && !isPlatformWide) throw problem('platform-client-required')
  if (orgId === null && tenant !== null)
    throw invalidMember('/orgId', 'must not differ from the organisation that the request names', 'ambiguous')
  if (orgId !== null && tenant === null) throw problem('org-required')
  return tenant ?? noOrganisation
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
  asking: Asking,
  id: string,
  orgId?: string | null,
): Promise<TenantId> {
  const { tenant, isPlatformWide } = asking
  if (orgId === null) return ownerOfNew(asking, null)
  if (tenant === null) return findOwner(id)
  if (isPlatformWide || (await store.loadCached(streamOf(tenant, id))).state.status !== 'absent') return tenant
  const { state } = await store.load(streamOf(noOrganisation, id))
  if (state.status === 'standing') throw problem('platform-client-required')
  return tenant
}

import type { TenantId } from '../../platform/kit/tenants.ts'
import { isUser, type UserState } from '../../streams/user/aggregate.ts'
import { refused, type Refusal } from '../handling/decision.ts'

/** Who administers a user, and how much of it the change concerns (contract-2, B3). */
export interface UserAdministration {
  /** Null: a platform caller that names no organisation. */
  readonly tenant: TenantId | null
  readonly isPlatformWide: boolean
  /** The change concerns the user in all organisations. */
  readonly isWhole: boolean
}

export type UserRefusal = 'not-found' | 'user-erased' | 'user-shared'

/** Null if the caller may make the change. */
export function mayAdminister(
  { tenant, isPlatformWide, isWhole }: UserAdministration,
  state: UserState,
): Refusal<UserRefusal> | null {
  if (!('externalId' in state)) return refused('not-found')
  if (!isUser(state))
    return refused(tenant === null || state.formerOrganisationIds.includes(tenant) ? 'user-erased' : 'not-found')
  const organisations = [...state.memberships.values()].map((one) => one.organisationId)
  if (tenant !== null && !organisations.includes(tenant)) return refused('not-found')
  if (isWhole && !isPlatformWide && organisations.some((one) => one !== tenant)) return refused('user-shared')
  return null
}

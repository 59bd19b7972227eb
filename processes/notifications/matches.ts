import { v5 } from 'uuid'
import { isUuid } from '../../platform/http/formats.ts'
import { noOrganisation, tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import type { Trigger } from '../../streams/notification/events.ts'

/** A rule, the event that it matches, and the organisation of the notification. */
type Match = Pick<Trigger, 'subscriptionId' | 'eventId'> & { readonly organisationId: TenantId }

/** The key of a `create` row begins with the rule, which the lookup supplies. */
export function createKeyOf({ subscriptionId, eventId, organisationId }: Match): string {
  return `${subscriptionId}${endOfKey(eventId, organisationId)}`
}

export function endOfKey(eventId: string, organisationId: TenantId): string {
  return `.${eventId}.${organisationId}`
}

/** The same for an event that arrives again. A rule of the platform makes one notification for each organisation. */
export function notificationIdOf({ subscriptionId, eventId, organisationId }: Match): string {
  return v5(`${eventId} ${organisationId}`, subscriptionId)
}

/** The members that may name the organisations of an event. */
export interface NamedOrganisations {
  readonly org_id?: unknown
  readonly orgId?: unknown
  readonly organisationId?: unknown
  readonly organisationIds?: unknown
}

/**
 * The organisations that an event names, each once. Other services write the nil UUID where they have none. As an
 * organisation it would own the rules of the platform, so each of these would make two rows with one key.
 */
export function organisationsOf(named: NamedOrganisations): TenantId[] {
  const { org_id, orgId, organisationId, organisationIds } = named
  const several: readonly unknown[] = Array.isArray(organisationIds) ? organisationIds : []
  const ids = [org_id, orgId, organisationId, ...several].filter((id) => typeof id === 'string' && isUuid(id))
  return [...new Set(ids.map((id) => tenantOfFact(String(id).toLowerCase())))].filter((id) => id !== noOrganisation)
}

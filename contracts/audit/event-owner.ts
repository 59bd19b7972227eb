import { isJsonObject } from '../../engine/store/events.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { users } from '../../streams/user/aggregate.ts'

/**
 * Whether an organisation may see that an event exists: one of a stream of its own, a public event that names it, or one
 * of a user that concerns it.
 */
export function concernsTenant(stream: string, data: unknown, metadata: unknown, tenant: TenantId): boolean {
  if (stream.slice(stream.indexOf('-') + 1).startsWith(tenant)) return true
  if (stream.includes('-') && !stream.startsWith(`${users.category}-`)) return false
  const [facts, cause] = [data, metadata].map((part) => (isJsonObject(part) ? part : {}))
  const ids: unknown = facts?.['organisationIds']
  const named = [cause?.['orgId'], facts?.['organisationId'], facts?.['orgId'], facts?.['org_id']]
  return [...named, ...(Array.isArray(ids) ? ids : [])].includes(tenant)
}

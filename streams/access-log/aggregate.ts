import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { accessLogEvents, type AccessLogEvent } from './events.ts'

/** Nothing is decided by it. */
export interface AccessLogState {
  readonly status: 'open'
}

/**
 * Who saw personal content. A stream for each organisation, UTC day and process, so that no two processes append to the
 * same one, and a retention ends whole streams.
 */
export const accessLogs = defineAggregate({
  category: 'access_log',
  id: (orgId: TenantId, day: string, processId: string) => idOfOrganisation(orgId, `${day}-${processId}`),
  events: accessLogEvents,
  initialState: { status: 'open' },
  evolve: (state: AccessLogState, _event: AccessLogEvent): AccessLogState => state,
  wholeState: 'AccessRecorded',
})

export const addressKeyName = 'access_log'

/** The key of source addresses of an organisation: one for each UTC month. `instant` is RFC 3339 in UTC. */
export function addressKeyOf(instant: string): string {
  return `${addressKeyName}@${instant.slice(0, 7)}`
}

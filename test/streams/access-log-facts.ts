import { accessLogs } from '../../streams/access-log/aggregate.ts'
import type { AccessLogEvent } from '../../streams/access-log/events.ts'
import type { AccessMonthEvent } from '../../streams/access-month/events.ts'
import type { AuditChannelEvent } from '../../streams/channels/audit.ts'
import { envelope } from './channel-facts.ts'
import { at, factsOf, ids } from './facts.ts'

export const accessLogIds = {
  access: '00000000-0000-4000-8000-0000000000ac',
  process: '00000000-0000-4000-8000-0000000000ad',
  user: '00000000-0000-4000-8000-0000000000ae',
}

export const accessLogFact = factsOf<AccessLogEvent>({
  AccessRecorded: {
    accessId: accessLogIds.access,
    organisationId: ids.org,
    at: at(0),
    clientId: ids.client,
    userId: accessLogIds.user,
    patientIds: [ids.patient],
    subjectUserId: null,
    categories: ['images', 'results'],
    operation: 'getAssessment',
    purpose: 'TREAT',
    requestId: 'request-1',
    sourceAddress: 'canary-address',
    addressKey: 'access_log@2026-03',
  },
  AccessRepeated: { accessId: accessLogIds.access, count: 3, lastAt: at(30) },
})

/** A fact in the log of its organisation, day and process. */
export const ofAccessLog = (event: AccessLogEvent, orgId = ids.org) => ({
  ...event,
  stream: accessLogs.of(orgId, '2026-03-01', accessLogIds.process).stream,
})

export const accessMonthFact = factsOf<AccessMonthEvent>({ AccessMonthEnded: { month: '2026-03', endedAt: at(60) } })

/** The events of the audit channel. */
export const auditPublicFact = factsOf<AuditChannelEvent>({
  'audit.emergency_access': {
    org_id: ids.org,
    access_id: accessLogIds.access,
    client_id: ids.client,
    user_id: accessLogIds.user,
    patient_ids: [ids.patient],
    subject_user_id: null,
    operation: 'getAssessment',
    at: at(0),
    ...envelope('audit.emergency_access', 0),
  },
})

import type { NotificationPreferencesEvent } from '../../streams/notification-preferences/events.ts'
import type { NotificationSubscriptionEvent } from '../../streams/notification-subscription/events.ts'
import type { SuppressionEvent } from '../../streams/suppression/events.ts'
import { at, factsOf, ids } from './facts.ts'
import { userIds } from './user-facts.ts'

/** A rule of the organisation, and an address that it suppresses. */
export const settingIds = {
  rule: '00000000-0000-4000-8000-000000000091',
  suppression: '00000000-0000-4000-8000-000000000092',
} as const

const changedBy = ids.client
const rule = {
  subscriptionId: settingIds.rule,
  orgId: ids.org,
  eventType: 'assessment.completed',
  templateCode: 'assessment-completed',
  recipientRule: { type: 'patient', path: 'patient_id' },
  enabled: true,
} as const

export const ruleFact = factsOf<NotificationSubscriptionEvent>({
  NotificationSubscriptionCreated: { ...rule, createdAt: at(0), changedBy, fingerprint: null },
  NotificationSubscriptionChanged: {
    ...rule,
    recipientRule: { type: 'slackChannel', channel: 'C0123' },
    enabled: false,
    changedAt: at(1),
    changedBy,
  },
  NotificationSubscriptionDeleted: { ...rule, deletedAt: at(2), changedBy },
})

export const preferencesFact = factsOf<NotificationPreferencesEvent>({
  NotificationPreferencesSet: {
    userId: userIds.user,
    organisationId: ids.org,
    entries: [
      { category: 'marketing', channel: 'email', optedOut: true },
      { category: 'operational', channel: 'email', optedOut: false },
    ],
    changedBy,
    setAt: at(3),
  },
})

export const suppressionFact = factsOf<SuppressionEvent>({
  SuppressionAdded: {
    suppressionId: settingIds.suppression,
    orgId: ids.org,
    channel: 'email',
    address: 'canary-suppressed@example.org',
    reason: 'canary-reason',
    addedAt: at(4),
    changedBy,
    fingerprint: null,
  },
  SuppressionRemoved: { suppressionId: settingIds.suppression, orgId: ids.org, removedAt: at(5), changedBy },
})

import type { NotificationChannelEvent } from '../../streams/channels/notification.ts'
import { notifications } from '../../streams/notification/aggregate.ts'
import type { NotificationEvent } from '../../streams/notification/events.ts'
import type { NotificationQueueRequestEvent } from '../../streams/notification-queue-request/events.ts'
import { envelope } from './channel-facts.ts'
import { at, factsOf, hash, ids } from './facts.ts'
import { userIds } from './user-facts.ts'

/** A mail about the patient's completed assessment to a user, made by a rule. */
export const notificationIds = {
  notification: '00000000-0000-4000-8000-000000000091',
  attempt: '00000000-0000-4000-8000-000000000092',
  rule: '00000000-0000-4000-8000-000000000093',
  queueRequest: '00000000-0000-4000-8000-000000000094',
} as const

const { notification: notificationId } = notificationIds
const published = {
  notificationId,
  templateCode: 'assessment-completed',
  channel: 'email' as const,
  correlationId: 'order-7',
  hop: 1,
}
export const trigger = {
  eventId: ids.event,
  eventType: 'assessment.completed',
  subscriptionId: notificationIds.rule,
  receivedAt: at(30),
}
const ended = { attemptId: notificationIds.attempt, attempt: 1, response: { status: 250 }, latencyMs: 40 }

export const notificationFact = factsOf<NotificationEvent>({
  NotificationCreated: {
    ...published,
    organisationId: ids.org,
    templateVersion: 1,
    locale: 'en-GB',
    category: 'clinical',
    phi: true,
    recipientType: 'user',
    recipientRef: userIds.user,
    recipientKey: hash('a'),
    variables: '{"outcome":"canary-outcome"}',
    phiSubject: ids.patient,
    phiKeyOwner: 'organisation',
    triggerSource: `event:${ids.event}`,
    trigger,
    createdAt: at(31),
    fingerprint: null,
  },
  NotificationDiscarded: {
    notificationId,
    organisationId: ids.org,
    trigger,
    reason: 'event_too_old',
    discardedAt: at(31),
  },
  NotificationQueued: {
    notificationId,
    channel: 'email',
    reason: 'enqueued',
    nextAttemptAt: at(32),
    request: null,
    queuedAt: at(32),
  },
  NotificationAttemptStarted: {
    notificationId,
    attemptId: notificationIds.attempt,
    attempt: 1,
    templateVersion: 1,
    phi: true,
    category: 'clinical',
    categories: ['clinical'],
    resolvedAddress: 'canary@example.org',
    phiSubject: userIds.user,
    phiKeyOwner: 'platform',
    providerName: 'smtp',
    request: { attachments: 0 },
    startedAt: at(32),
    leaseUntil: at(52),
  },
  NotificationRetryScheduled: {
    notificationId,
    ended,
    errorCode: 'provider_5xx',
    errorDetail: 'the server answered 451',
    nextAttemptAt: at(35),
    failedAt: at(33),
  },
  NotificationAttemptWithdrawn: {
    notificationId,
    attemptId: notificationIds.attempt,
    attempts: 0,
    nextAttemptAt: at(62),
    withdrawnAt: at(32),
  },
  NotificationSent: { ...published, ended, providerMessageId: 'message-1', sentAt: at(33) },
  NotificationSuppressed: { ...published, ended, reason: 'suppression_list', suppressedAt: at(33) },
  NotificationFailed: {
    ...published,
    ended,
    errorCode: 'provider_4xx',
    errorDetail: 'the server answered 554',
    finalAttempt: false,
    failedAt: at(33),
  },
})

export const queueRequestFact = factsOf<NotificationQueueRequestEvent>({
  NotificationQueueRequestAnswered: {
    requestId: notificationIds.queueRequest,
    organisationId: ids.org,
    action: 'retry_failed',
    notificationIds: [notificationId],
    skipped: 0,
    hasMore: false,
    answeredAt: at(60),
    fingerprint: hash('f'),
  },
})

const { hop, correlationId, ...named } = published
const payload = { ...named, orgId: ids.org, correlationId }

/** The ends of the notification on its channel. */
export const notificationPublicFact = factsOf<NotificationChannelEvent>({
  'notification.sent': { ...payload, ...envelope('notification.sent', 33), hop },
  'notification.failed': {
    ...payload,
    errorCode: 'provider_4xx',
    finalAttempt: false,
    ...envelope('notification.failed', 33),
    hop,
  },
  'notification.suppressed': {
    ...payload,
    reason: 'suppression_list',
    ...envelope('notification.suppressed', 33),
    hop,
  },
})

/** An event of the notification above, in its stream. */
export const ownNotification = (event: NotificationEvent) => ({
  ...event,
  stream: notifications.of(ids.org, notificationId).stream,
})

import { Type } from 'typebox'
import {
  CallMetadata,
  DiscardReason,
  NotificationErrorCode,
  NotificationStatus,
  RecipientType,
  SuppressionReason,
  type EndedAttempt,
  type NotificationEvent,
  type Trigger,
} from '../../streams/notification/events.ts'
import { patientOf } from '../../streams/notification/aggregate.ts'
import { NotificationCategory, NotificationChannel } from '../../streams/types.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import { defineProjector, defineTable, sealed, type RowChange } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, patchRows, removeRow, upsertRow } from '../../engine/projections/row-changes.ts'

/** Contains no variables. */
export const notificationsTable = defineTable({
  name: 'notifications',
  columns: {
    notification_id: 'uuid',
    org_id: 'uuid',
    template_code: 'text',
    template_version: { type: 'integer', nullable: true },
    channel: { type: 'text', values: NotificationChannel.enum },
    locale: 'text',
    category: { type: 'text', values: NotificationCategory.enum, nullable: true },
    phi: 'boolean',
    recipient_type: { type: 'text', values: RecipientType.enum },
    recipient_ref: sealed(Type.String()),
    recipient_key: { type: 'text', nullable: true },
    resolved_address: sealed(Type.String()),
    /** The patient whom the notification is about. */
    patient_id: { type: 'uuid', nullable: true },
    /** The persons whose erasure clears the reference and the address. */
    ref_subject: 'uuid',
    address_subject: { type: 'uuid', nullable: true },
    status: { type: 'text', values: NotificationStatus.enum },
    attempts: 'integer',
    provider_message_id: { type: 'text', nullable: true },
    /** Of the last attempt that failed, until one succeeds. */
    error_code: { type: 'text', values: NotificationErrorCode.enum, nullable: true },
    error_detail: { type: 'text', nullable: true },
    suppression_reason: { type: 'text', values: SuppressionReason.enum, nullable: true },
    correlation_id: { type: 'text', nullable: true },
    trigger_source: 'text',
    created_at: 'timestamptz',
    sent_at: { type: 'timestamptz', nullable: true },
    failed_at: { type: 'timestamptz', nullable: true },
    next_attempt_at: { type: 'timestamptz', nullable: true },
    lease_until: { type: 'timestamptz', nullable: true },
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['notification_id'],
  indexes: [
    { columns: ['org_id', 'created_at', 'notification_id'] },
    { columns: ['org_id', 'recipient_key', 'created_at', 'notification_id'] },
    { columns: ['org_id', 'status', 'created_at', 'notification_id'] },
    { columns: ['org_id', 'status', 'failed_at', 'notification_id'] },
    { columns: ['failed_at'], isSparse: true },
    { columns: ['ref_subject'] },
    { columns: ['address_subject'] },
  ],
})

/** An attempt without an outcome has no duration. */
export const deliveryAttemptsTable = defineTable({
  name: 'delivery_attempts',
  columns: {
    attempt_id: 'uuid',
    notification_id: 'uuid',
    attempt_number: 'integer',
    provider_name: 'text',
    request: { type: 'jsonb', schema: CallMetadata },
    response: { type: 'jsonb', schema: CallMetadata, nullable: true },
    success: { type: 'boolean', nullable: true },
    error_code: { type: 'text', values: NotificationErrorCode.enum, nullable: true },
    latency_ms: { type: 'integer', nullable: true },
    created_at: 'timestamptz',
  },
  primaryKey: ['attempt_id'],
  indexes: [{ columns: ['notification_id', 'attempt_number'] }],
})

/** Events that rules matched, for each organisation. The ids of notifications prevent doubles, not this. */
export const eventInboxTable = defineTable({
  name: 'event_inbox',
  columns: {
    event_id: 'uuid',
    org_id: 'uuid',
    event_type: 'text',
    received_at: 'timestamptz',
    /** Of the last rule until now. */
    processed_at: 'timestamptz',
  },
  primaryKey: ['event_id', 'org_id'],
  indexes: [{ columns: ['org_id', 'received_at', 'event_id'] }],
})

export const matchedRulesTable = defineTable({
  name: 'matched_rules',
  columns: {
    event_id: 'uuid',
    org_id: 'uuid',
    subscription_id: 'uuid',
    notification_id: 'uuid',
    /** Null if the event made the notification. */
    discard_reason: { type: 'text', values: DiscardReason.enum, nullable: true },
  },
  primaryKey: ['event_id', 'org_id', 'subscription_id'],
})

/** Notifications with their attempts, and the events that made them. */
export const notificationsProjector = defineProjector<NotificationEvent | UserEvent>()({
  name: 'notifications',
  version: 4,
  tables: [notificationsTable, deliveryAttemptsTable, eventInboxTable, matchedRulesTable],
  handlers: {
    NotificationCreated: ({ data, revision }) => [
      insertRow(notificationsTable, {
        ...data,
        orgId: data.organisationId,
        refSubject: data.phiSubject,
        patientId: patientOf(data),
        status: 'pending',
        attempts: 0,
        updatedAt: data.createdAt,
        streamRevision: revision,
      }),
      ...(data.trigger === null ? [] : matched(data, data.trigger, data.createdAt, null)),
    ],
    NotificationDiscarded: ({ data }) => matched(data, data.trigger, data.discardedAt, data.reason),
    NotificationQueued: ({ data: { notificationId, nextAttemptAt, queuedAt }, revision }) => [
      changed(notificationId, revision, queuedAt, { status: 'queued', nextAttemptAt, failedAt: null }),
    ],
    NotificationAttemptStarted: ({ data, revision }) => [
      insertRow(deliveryAttemptsTable, { ...data, attemptNumber: data.attempt, createdAt: data.startedAt }),
      changed(data.notificationId, revision, data.startedAt, {
        status: 'sending',
        attempts: data.attempt,
        nextAttemptAt: null,
        leaseUntil: data.leaseUntil,
        templateVersion: data.templateVersion,
        category: data.category,
        phi: data.phi,
        resolvedAddress: data.resolvedAddress,
        addressSubject: data.phiSubject,
      }),
    ],
    NotificationAttemptWithdrawn: ({ data, revision }) => [
      removeRow(deliveryAttemptsTable, { attemptId: data.attemptId }),
      changed(data.notificationId, revision, data.withdrawnAt, {
        status: 'queued',
        attempts: data.attempts,
        nextAttemptAt: data.nextAttemptAt,
        leaseUntil: null,
      }),
    ],
    NotificationRetryScheduled: ({ data, revision }) => [
      ...ended(data.ended, data.errorCode),
      changed(data.notificationId, revision, data.failedAt, {
        status: 'queued',
        ...failureOf(data),
        nextAttemptAt: data.nextAttemptAt,
        leaseUntil: null,
      }),
    ],
    NotificationSent: ({ data, revision }) => [
      // The outcome of the attempt may have been unknown before.
      patchRow(deliveryAttemptsTable, { ...outcomeOf(data.ended), success: true, errorCode: null }),
      changed(data.notificationId, revision, data.sentAt, {
        status: 'sent',
        providerMessageId: data.providerMessageId,
        sentAt: data.sentAt,
        errorCode: null,
        errorDetail: null,
        failedAt: null,
        nextAttemptAt: null,
        leaseUntil: null,
      }),
    ],
    NotificationSuppressed: ({ data, revision }) => [
      ...ended(data.ended, null),
      changed(data.notificationId, revision, data.suppressedAt, {
        status: 'suppressed',
        suppressionReason: data.reason,
        errorCode: null,
        errorDetail: null,
        leaseUntil: null,
      }),
    ],
    NotificationFailed: ({ data, revision }) => [
      ...ended(data.ended, data.errorCode),
      changed(data.notificationId, revision, data.failedAt, {
        status: 'failed',
        ...failureOf(data),
        failedAt: data.failedAt,
        leaseUntil: null,
      }),
    ],
    // The key of the user is destroyed later.
    UserErasureStarted: ({ data: { userId } }) => [
      patchRows(notificationsTable, { refSubject: userId }, { recipientRef: null }),
      patchRows(notificationsTable, { addressSubject: userId }, { resolvedAddress: null }),
    ],
  },
})

type Change = Parameters<typeof patchRow<typeof notificationsTable>>[1]

function changed(
  notificationId: string,
  streamRevision: bigint,
  updatedAt: string,
  set: Omit<Change, 'notificationId' | 'streamRevision' | 'updatedAt'>,
): RowChange {
  return patchRow(notificationsTable, { ...set, notificationId, updatedAt, streamRevision })
}

function failureOf({ errorCode, errorDetail }: Pick<Change, 'errorCode' | 'errorDetail'>) {
  return { errorCode, errorDetail }
}

function outcomeOf({ attemptId, response, latencyMs }: EndedAttempt) {
  return { attemptId, response, latencyMs }
}

/** An attempt that did not send. There was none if a recipient or a template was not found at the event. */
function ended(attempt: EndedAttempt | null, errorCode: NotificationErrorCode | null): RowChange[] {
  return attempt === null ? [] : [patchRow(deliveryAttemptsTable, { ...outcomeOf(attempt), success: false, errorCode })]
}

function matched(
  { notificationId, organisationId: orgId }: { readonly notificationId: string; readonly organisationId: string },
  { eventId, eventType, receivedAt, subscriptionId }: Trigger,
  processedAt: string,
  discardReason: DiscardReason | null,
): RowChange[] {
  return [
    upsertRow(eventInboxTable, { eventId, orgId, eventType, receivedAt, processedAt }),
    insertRow(matchedRulesTable, { eventId, orgId, subscriptionId, notificationId, discardReason }),
  ]
}

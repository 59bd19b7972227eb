import { Type } from 'typebox'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import {
  DeliveredEventType,
  DeliveryErrorClass,
  DeliveryOrigin,
  DeliveryStatus,
  type WebhookDeliveryEvent,
} from '../../streams/webhook-delivery/events.ts'
import {
  SubscriptionStatus,
  WebhookEventType,
  type WebhookSubscriptionEvent,
} from '../../streams/webhook-subscriptions/events.ts'
import { defineProjector, defineTable, insertSelect, type RowChange } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow, upsertRow } from '../../engine/projections/row-changes.ts'

/** Subscriptions at an event's place in `$all`. An event is due to the active ones that name its type. */
const webhookRecipientsTable = defineTable({
  name: 'recipients',
  columns: {
    subscription_id: 'uuid',
    org_id: 'uuid',
    status: { type: 'text', values: SubscriptionStatus.enum },
    event_types: { type: 'jsonb', schema: Type.Array(WebhookEventType) },
  },
  primaryKey: ['subscription_id'],
  indexes: [{ columns: ['org_id'] }],
})

export const webhookDeliveriesTable = defineTable({
  name: 'deliveries',
  columns: {
    delivery_id: 'uuid',
    org_id: 'uuid',
    subscription_id: 'uuid',
    event_id: 'uuid',
    event_type: { type: 'text', values: DeliveredEventType.enum },
    assessment_id: { type: 'uuid', nullable: true },
    /** Only deliveries of events are recovered. */
    origin: { type: 'text', values: DeliveryOrigin.enum },
    status: { type: 'text', values: DeliveryStatus.enum },
    /** When the event happened, or the test was requested. */
    created_at: 'timestamptz',
    next_attempt_at: { type: 'timestamptz', nullable: true },
    /** While its status is `failed`. */
    failed_at: { type: 'timestamptz', nullable: true },
    /** -1 until the first attempt or a cancellation, which begins the stream. */
    stream_revision: 'bigint',
  },
  primaryKey: ['delivery_id'],
  indexes: [
    { columns: ['org_id', 'subscription_id', 'created_at', 'delivery_id'] },
    { columns: ['org_id', 'subscription_id', 'status', 'created_at', 'delivery_id'] },
    { columns: ['failed_at'], isSparse: true },
  ],
})

/** An attempt without an outcome has no duration. */
export const webhookAttemptsTable = defineTable({
  name: 'attempts',
  columns: {
    delivery_id: 'uuid',
    attempt: 'integer',
    at: 'timestamptz',
    status_code: { type: 'integer', nullable: true },
    duration_ms: { type: 'integer', nullable: true },
    error_class: { type: 'text', values: DeliveryErrorClass.enum, nullable: true },
  },
  primaryKey: ['delivery_id', 'attempt'],
})

/**
 * Deliveries with the outcome of each attempt, without the receiver's answer. A delivery is pending from its event on, by the
 * same rules as the to-do list of the process. Its stream begins with the first attempt, which may be later: an endpoint can
 * pause.
 */
export const webhookDeliveriesProjector = defineProjector<
  AssessmentEvent | WebhookSubscriptionEvent | WebhookDeliveryEvent
>()({
  name: 'webhook_deliveries',
  version: 4,
  tables: [webhookDeliveriesTable, webhookAttemptsTable, webhookRecipientsTable],
  handlers: {
    WebhookSubscribed: ({ data }) => [
      insertRow(webhookRecipientsTable, { ...data, orgId: data.organisationId, status: 'active' }),
    ],
    WebhookSubscriptionChanged: ({ data: { subscriptionId, eventTypes } }) => [
      patchRow(webhookRecipientsTable, { subscriptionId, eventTypes }),
    ],
    WebhookSubscriptionEnabled: ({ data: { subscriptionId } }) => [
      patchRow(webhookRecipientsTable, { subscriptionId, status: 'active' }),
    ],
    WebhookSubscriptionDisabled: ({ data: { subscriptionId } }) => [
      patchRow(webhookRecipientsTable, { subscriptionId, status: 'disabled' }),
    ],
    WebhookSubscriptionDeleted: ({ data }) => [removeRow(webhookRecipientsTable, data)],

    AssessmentCompleted: (event) => due(event, 'assessment.completed', event.data.completedAt),
    AssessmentFailed: (event) => due(event, 'assessment.failed', event.data.failedAt),
    AssessmentHumanReviewDecided: (event) => due(event, 'assessment.reviewed', event.data.decidedAt),

    // A delivery of an event has a row already. A test gets its row here.
    WebhookDeliveryScheduled: ({ data, revision }) => [
      upsertRow(webhookDeliveriesTable, {
        ...data,
        orgId: data.organisationId,
        status: 'pending',
        createdAt: data.occurredAt,
        nextAttemptAt: data.scheduledAt,
        streamRevision: revision,
      }),
    ],
    WebhookDeliveryAttempted: ({ data: { deliveryId, attempt, attemptedAt }, revision }) => [
      // After a crash during the attempt, the next attempt has the same number.
      upsertRow(webhookAttemptsTable, { deliveryId, attempt, at: attemptedAt }),
      patchRow(webhookDeliveriesTable, { deliveryId, streamRevision: revision }),
    ],
    WebhookDelivered: ({ data, revision }) => [outcome(data, null), ended(data, 'delivered', revision)],
    WebhookDeliveryAttemptFailed: ({ data, revision }) => [
      outcome(data, data.errorClass),
      patchRow(webhookDeliveriesTable, {
        deliveryId: data.deliveryId,
        nextAttemptAt: data.nextAttemptAt,
        streamRevision: revision,
      }),
    ],
    WebhookDeliveryBroughtForward: ({ data: { deliveryId, nextAttemptAt }, revision }) => [
      patchRow(webhookDeliveriesTable, { deliveryId, nextAttemptAt, streamRevision: revision }),
    ],
    WebhookDeliveryFailed: ({ data, revision }) => [
      outcome(data, data.errorClass),
      ended(data, 'failed', revision, data.failedAt),
    ],
    WebhookDeliveryCancelled: ({ data, revision }) => [ended(data, 'cancelled', revision)],
    WebhookRedeliveryRequested: ({ data: { deliveryId, requestedAt }, revision }) => [
      patchRow(webhookDeliveriesTable, {
        deliveryId,
        status: 'pending',
        nextAttemptAt: requestedAt,
        failedAt: null,
        streamRevision: revision,
      }),
    ],
    WebhookRedeliveryUnneeded: ({ data: { deliveryId }, revision }) => [
      patchRow(webhookDeliveriesTable, { deliveryId, streamRevision: revision }),
    ],
  },
})

type ReportedEvent = Pick<RecordedEvent, 'id' | 'stream'> & { readonly data: { readonly assessmentId: string } }

/** A delivery to each active subscription that names the type, due at once. */
function due({ id, stream, data }: ReportedEvent, eventType: WebhookEventType, at: string): RowChange[] {
  return [
    insertSelect(webhookDeliveriesTable, {
      from: webhookRecipientsTable,
      isOfEvent: true,
      where: { org_id: parseOwnedStream(stream).orgId, status: 'active', event_types: { contains: [eventType] } },
      columns: {
        delivery_id: { uuid: { namespace: { column: 'subscription_id' }, name: { value: id } } },
        org_id: { column: 'org_id' },
        subscription_id: { column: 'subscription_id' },
        event_id: { value: id },
        event_type: { value: eventType },
        assessment_id: { value: data.assessmentId },
        origin: { value: 'event' },
        status: { value: 'pending' },
        created_at: { value: at },
        next_attempt_at: { value: at },
        stream_revision: { value: -1 },
      },
    }),
  ]
}

interface AttemptEnd {
  readonly deliveryId: string
  readonly attempt: number
  readonly statusCode: number | null
  readonly durationMs: number
}

function outcome(
  { deliveryId, attempt, statusCode, durationMs }: AttemptEnd,
  errorClass: DeliveryErrorClass | null,
): RowChange {
  return patchRow(webhookAttemptsTable, { deliveryId, attempt, statusCode, durationMs, errorClass })
}

function ended(
  { deliveryId }: Pick<AttemptEnd, 'deliveryId'>,
  status: Exclude<DeliveryStatus, 'pending'>,
  streamRevision: bigint,
  failedAt: string | null = null,
): RowChange {
  return patchRow(webhookDeliveriesTable, { deliveryId, status, nextAttemptAt: null, failedAt, streamRevision })
}

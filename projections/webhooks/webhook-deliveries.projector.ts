import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { RecordedEvent } from '../../streams/store/events.ts'
import { parseOwnedStream } from '../../streams/aggregate.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import type { WebhookEventType, WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import {
  defineProjector,
  insert,
  insertSelect,
  patch,
  remove,
  upsert,
  type PatchOf,
  type RowChange,
} from '../runtime/projector.ts'
import { webhookAttempts, webhookDeliveries, webhookRecipients } from './webhook-deliveries.table.ts'

/**
 * The log of deliveries: the outcome of each attempt, without the receiver's answer. A delivery is pending from the event
 * on, by the same rules as the to-do list of the process: its stream begins only with the first attempt, which a pause of
 * the endpoint can put off.
 */
export const webhookDeliveriesProjector = defineProjector<
  AssessmentEvent | WebhookSubscriptionEvent | WebhookDeliveryEvent
>()({
  name: 'webhook_deliveries',
  version: 2,
  tables: [webhookDeliveries, webhookAttempts, webhookRecipients],
  handlers: {
    WebhookSubscribed: ({ data }) => [
      insert(webhookRecipients, {
        subscription_id: data.subscriptionId,
        org_id: data.organisationId,
        status: 'active',
        event_types: data.eventTypes,
      }),
    ],
    WebhookSubscriptionChanged: ({ data }) => [
      patch(webhookRecipients, recipient(data), { event_types: data.eventTypes }),
    ],
    WebhookSubscriptionEnabled: ({ data }) => [patch(webhookRecipients, recipient(data), { status: 'active' })],
    WebhookSubscriptionDisabled: ({ data }) => [patch(webhookRecipients, recipient(data), { status: 'disabled' })],
    WebhookSubscriptionDeleted: ({ data }) => [remove(webhookRecipients, recipient(data))],

    AssessmentCompleted: (event) => due(event, 'assessment.completed', event.data.completedAt),
    AssessmentFailed: (event) => due(event, 'assessment.failed', event.data.failedAt),

    // The row of an event is there; that of a test begins here.
    WebhookDeliveryScheduled: ({ data, revision }) => [
      upsert(webhookDeliveries, {
        delivery_id: data.deliveryId,
        org_id: data.organisationId,
        subscription_id: data.subscriptionId,
        event_id: data.eventId,
        event_type: data.eventType,
        assessment_id: data.assessmentId,
        origin: data.origin,
        status: 'pending',
        created_at: data.occurredAt,
        next_attempt_at: data.scheduledAt,
        stream_revision: revision,
      }),
    ],
    WebhookDeliveryAttempted: ({ data, revision }) => [
      // One that a crash cut off is made again under its number.
      upsert(webhookAttempts, { delivery_id: data.deliveryId, attempt: data.attempt, at: data.attemptedAt }),
      delivery(data, { stream_revision: revision }),
    ],
    WebhookDelivered: ({ data, revision }) => [
      outcome(data, null),
      delivery(data, { status: 'delivered', next_attempt_at: null, stream_revision: revision }),
    ],
    WebhookDeliveryAttemptFailed: ({ data, revision }) => [
      outcome(data, data.errorClass),
      delivery(data, { next_attempt_at: data.nextAttemptAt, stream_revision: revision }),
    ],
    WebhookDeliveryFailed: ({ data, revision }) => [
      outcome(data, data.errorClass),
      delivery(data, { status: 'failed', next_attempt_at: null, stream_revision: revision }),
    ],
    WebhookDeliveryCancelled: ({ data, revision }) => [
      delivery(data, { status: 'cancelled', next_attempt_at: null, stream_revision: revision }),
    ],
    WebhookRedeliveryRequested: ({ data, revision }) => [
      delivery(data, { status: 'pending', next_attempt_at: data.requestedAt, stream_revision: revision }),
    ],
    WebhookRedeliveryUnneeded: ({ data, revision }) => [delivery(data, { stream_revision: revision })],
  },
})

type Ended = Pick<RecordedEvent, 'id' | 'stream'> & { readonly data: { readonly assessmentId: string } }

/** A delivery to each subscription that is active and names the type, due at once. */
function due({ id, stream, data }: Ended, eventType: WebhookEventType, at: string): RowChange[] {
  return [
    insertSelect(webhookDeliveries, {
      from: webhookRecipients,
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

function recipient({ subscriptionId }: { readonly subscriptionId: string }) {
  return { subscription_id: subscriptionId }
}

interface Settled {
  readonly deliveryId: string
  readonly attempt: number
  readonly statusCode: number | null
  readonly durationMs: number
}

function outcome({ deliveryId, attempt, statusCode, durationMs }: Settled, errorClass: string | null): RowChange {
  const came = { status_code: statusCode, duration_ms: durationMs, error_class: errorClass }
  return patch(webhookAttempts, { delivery_id: deliveryId, attempt }, came)
}

function delivery({ deliveryId }: { readonly deliveryId: string }, set: PatchOf<typeof webhookDeliveries>): RowChange {
  return patch(webhookDeliveries, { delivery_id: deliveryId }, set)
}

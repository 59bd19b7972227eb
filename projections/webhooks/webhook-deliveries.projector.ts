import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import { defineProjector, insert, patch, upsert, type PatchOf, type RowChange } from '../runtime/projector.ts'
import { webhookAttempts, webhookDeliveries } from './webhook-deliveries.table.ts'

/** The log of deliveries: what came of each attempt, never what the receiver said. */
export const webhookDeliveriesProjector = defineProjector<WebhookDeliveryEvent>()({
  name: 'webhook_deliveries',
  version: 1,
  tables: [webhookDeliveries, webhookAttempts],
  handlers: {
    WebhookDeliveryScheduled: ({ data, revision }) => [
      insert(webhookDeliveries, {
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

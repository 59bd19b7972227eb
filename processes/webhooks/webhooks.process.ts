import type { RecordedEvent } from '../../streams/store/events.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import type { WebhookEventType, WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import { parseOwnedStream } from '../../streams/stream-name.ts'
import {
  defineProjector,
  defineTable,
  insert,
  insertSelect,
  patch,
  remove,
  type RowChange,
} from '../../projections/runtime/projector.ts'
import { todoTable } from '../runtime/process.ts'
import { causeOf, type CausedPayload } from '../runtime/step-identity.ts'

/** The receivers as they stand at an event's place in `$all`. */
const receivers = defineTable({
  name: 'receivers',
  columns: { subscription_id: 'text', org_id: 'text', event_types: 'jsonb' },
  primaryKey: ['subscription_id'],
  indexes: [{ columns: ['org_id'] }],
})

export interface DeliverPayload extends CausedPayload {
  readonly subscriptionId: string
  readonly eventId: string
  readonly eventType: WebhookEventType
  readonly assessmentId: string
}

/** A delivery per subscription and event, due now and again after each failed attempt. */
export const webhooksToDo = defineProjector<AssessmentEvent | WebhookSubscriptionEvent | WebhookDeliveryEvent>()({
  name: 'webhooks_todo',
  version: 1,
  tables: [todoTable, receivers],
  handlers: {
    WebhookSubscribed: ({ data }) => [
      insert(receivers, {
        subscription_id: data.subscriptionId,
        org_id: data.organisationId,
        event_types: data.eventTypes,
      }),
    ],
    AssessmentCompleted: (event) => deliveries(event, 'assessment.completed', event.data.completedAt),
    AssessmentFailed: (event) => deliveries(event, 'assessment.failed', event.data.failedAt),
    WebhookDelivered: ({ data }) => [remove(todoTable, { key: keyOf(data), step: 'deliver' })],
    WebhookDeliveryAttemptFailed: ({ data }) => [
      patch(todoTable, { key: keyOf(data), step: 'deliver' }, { due_at: data.nextAttemptAt }),
    ],
    WebhookDeliveryFailed: ({ data }) => [remove(todoTable, { key: keyOf(data), step: 'deliver' })],
  },
})

function keyOf({ subscriptionId, eventId }: { subscriptionId: string; eventId: string }): string {
  return `${subscriptionId}.${eventId}`
}

function deliveries(
  event: Pick<RecordedEvent, 'id' | 'stream' | 'metadata'> & { readonly data: { readonly assessmentId: string } },
  eventType: WebhookEventType,
  at: string,
): RowChange[] {
  return [
    insertSelect(todoTable, {
      from: receivers,
      where: { org_id: parseOwnedStream(event.stream).orgId, event_types: { contains: [eventType] } },
      columns: {
        key: { concat: [{ column: 'subscription_id' }, { value: `.${event.id}` }] },
        step: { value: 'deliver' },
        org_id: { column: 'org_id' },
        due_at: { value: at },
        payload: {
          json: {
            cause: { value: causeOf(event) },
            subscriptionId: { column: 'subscription_id' },
            eventId: { value: event.id },
            eventType: { value: eventType },
            assessmentId: { value: event.data.assessmentId },
          },
        },
      },
    }),
  ]
}

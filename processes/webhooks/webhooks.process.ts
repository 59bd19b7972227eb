import type { RecordedEvent } from '../../streams/store/events.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import type { WebhookRecoveryEvent } from '../../streams/webhook-recovery/events.ts'
import type { WebhookEventType, WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import { parseOwnedStream } from '../../streams/aggregate.ts'
import {
  defineProjector,
  insert,
  insertSelect,
  patch,
  patchWhere,
  remove,
  upsert,
  type RowChange,
} from '../../projections/runtime/projector.ts'
import { freeLane, laneTodoTable } from '../runtime/process.ts'
import { causeOf } from '../runtime/step-identity.ts'
import {
  destroyRow,
  disableRow,
  endpoints,
  failing,
  forgetReviews,
  reviewedAgain,
  succeeding,
  unwanted,
} from './endpoint-rows.ts'
import type { DeliverPayload, RedeliverPayload } from './todo-payloads.ts'

/**
 * A delivery per subscription and event, due now and again after each failed attempt, in the lane of its subscription;
 * and beside them what is to become of those of a subscription that is disabled, and of endpoints that fail.
 */
export const webhooksToDo = defineProjector<
  AssessmentEvent | WebhookSubscriptionEvent | WebhookDeliveryEvent | WebhookRecoveryEvent
>()({
  name: 'webhooks_todo',
  version: 3,
  tables: [laneTodoTable, endpoints],
  handlers: {
    WebhookSubscribed: ({ data, revision }) => [
      insert(endpoints, {
        subscription_id: data.subscriptionId,
        org_id: data.organisationId,
        status: 'active',
        event_types: data.eventTypes,
        endpoint_revision: Number(revision),
        failing_since: null,
      }),
    ],
    WebhookSubscriptionChanged: ({ data, revision }) => {
      const { subscriptionId, eventTypes, isNewEndpoint } = data
      const newEndpoint = { endpoint_revision: Number(revision), failing_since: null }
      return [
        patch(
          endpoints,
          { subscription_id: subscriptionId },
          { event_types: eventTypes, ...(isNewEndpoint ? newEndpoint : {}) },
        ),
        ...(isNewEndpoint ? forgetReviews(subscriptionId) : []),
      ]
    },
    WebhookSubscriptionEnabled: ({ data, revision }) => [
      patch(
        endpoints,
        { subscription_id: data.subscriptionId },
        { status: 'active', endpoint_revision: Number(revision), failing_since: null },
      ),
    ],
    WebhookSubscriptionDisabled: (event) => [
      patch(endpoints, { subscription_id: event.data.subscriptionId }, { status: 'disabled' }),
      ...unwanted(event, 'subscription_disabled', event.data.disabledAt),
    ],
    WebhookSubscriptionDeleted: (event) => [
      destroyRow(event),
      remove(endpoints, { subscription_id: event.data.subscriptionId }),
      ...unwanted(event, 'subscription_deleted', event.data.deletedAt),
    ],
    WebhookSecretsDestroyed: ({ data }) => [
      remove(laneTodoTable, { key: data.subscriptionId, step: 'destroy-secrets' }),
    ],
    WebhookEndpointFailing: ({ data }) => reviewedAgain(data),

    AssessmentCompleted: (event) => deliveries(event, 'assessment.completed', event.data.completedAt),
    AssessmentFailed: (event) => deliveries(event, 'assessment.failed', event.data.failedAt),
    // What an event caused has its row; a test begins with its stream.
    WebhookDeliveryScheduled: (event) =>
      event.data.origin === 'test' ? [deliverAt(event, event.data.scheduledAt)] : [],
    WebhookRedeliveryRequested: (event) => [
      remove(laneTodoTable, { key: keyOf(event.data), step: 'redeliver' }),
      deliverAt(event, event.data.requestedAt),
    ],
    WebhookRedeliveryUnneeded: ({ data }) => [remove(laneTodoTable, { key: keyOf(data), step: 'redeliver' })],
    // Of a subscription that was disabled or deleted just before there is nothing to be done, and nothing that would take the rows away.
    WebhookRecoveryRequested: (event) => {
      const { subscriptionId, recoveryId, requestedAt } = event.data
      return event.data.deliveries.map(({ deliveryId, eventId }) => {
        const payload: RedeliverPayload = { cause: causeOf(event), subscriptionId, deliveryId, recoveryId }
        return insertSelect(laneTodoTable, {
          from: endpoints,
          where: { subscription_id: subscriptionId, status: 'active' },
          existing: 'replace',
          columns: {
            key: { value: keyOf({ subscriptionId, eventId }) },
            step: { value: 'redeliver' },
            org_id: { column: 'org_id' },
            due_at: { value: requestedAt },
            lane: { value: freeLane },
            payload: { value: payload },
          },
        })
      })
    },

    WebhookDeliveryAttemptFailed: (event) => [...dueAgain(event.data), ...failing(event)],
    WebhookDelivered: ({ data }) => [...ended(data), ...succeeding(data.subscriptionId)],
    WebhookDeliveryFailed: (event) => [
      ...ended(event.data),
      ...failing(event),
      ...(event.data.statusCode === 410 ? disableRow(event) : []),
    ],
    WebhookDeliveryCancelled: ({ data }) => ended(data),
  },
})

function keyOf({ subscriptionId, eventId }: { subscriptionId: string; eventId: string }): string {
  return `${subscriptionId}.${eventId}`
}

/** The row may be gone: the subscription was disabled during the attempt. */
function dueAgain(delivery: { subscriptionId: string; eventId: string; nextAttemptAt: string | null }): RowChange[] {
  const { nextAttemptAt } = delivery
  return nextAttemptAt === null
    ? []
    : [patchWhere(laneTodoTable, { key: keyOf(delivery), step: 'deliver' }, { due_at: nextAttemptAt })]
}

function ended(delivery: { subscriptionId: string; eventId: string }): RowChange[] {
  const key = keyOf(delivery)
  return ['deliver', 'cancel', 'redeliver'].map((step) => remove(laneTodoTable, { key, step }))
}

type Source = Pick<RecordedEvent, 'id' | 'stream' | 'metadata'>

function deliverAt(
  event: Source & { readonly data: Pick<DeliverPayload, 'subscriptionId' | 'eventId' | 'eventType' | 'assessmentId'> },
  at: string,
): RowChange {
  const { subscriptionId, eventId, eventType, assessmentId } = event.data
  const payload: DeliverPayload = {
    cause: causeOf(event),
    subscriptionId,
    eventId,
    eventType,
    assessmentId,
    occurredAt: null,
  }
  const { orgId } = parseOwnedStream(event.stream)
  return upsert(laneTodoTable, {
    key: keyOf(event.data),
    step: 'deliver',
    org_id: orgId,
    due_at: at,
    lane: subscriptionId,
    payload,
  })
}

function deliveries(
  event: Source & { readonly data: { readonly assessmentId: string } },
  eventType: WebhookEventType,
  at: string,
): RowChange[] {
  return [
    insertSelect(laneTodoTable, {
      from: endpoints,
      where: { org_id: parseOwnedStream(event.stream).orgId, status: 'active', event_types: { contains: [eventType] } },
      columns: {
        key: { concat: [{ column: 'subscription_id' }, { value: `.${event.id}` }] },
        step: { value: 'deliver' },
        org_id: { column: 'org_id' },
        due_at: { value: at },
        lane: { column: 'subscription_id' },
        payload: {
          json: {
            cause: { value: causeOf(event) },
            subscriptionId: { column: 'subscription_id' },
            eventId: { value: event.id },
            eventType: { value: eventType },
            assessmentId: { value: event.data.assessmentId },
            occurredAt: { value: at },
          },
        },
      },
    }),
  ]
}

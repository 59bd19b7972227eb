import type { RowChange } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow } from '../../engine/projections/row-changes.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import type { WebhookRecoveryEvent } from '../../streams/webhook-recovery/events.ts'
import type { WebhookEventType, WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { defineProcess } from '../../engine/processes/define-process.ts'
import type { DeliverPayload } from './delivery-target.ts'
import { destroySecretsLater, endpoints, failing, forgetReviews, gone, succeeding, unwanted } from './endpoint-rows.ts'
import { steps, type WebhookTodos } from './webhooks.steps.ts'

/**
 * One delivery for each subscription and event, due at once and again after each failed attempt. Its concurrency key is
 * the subscription. Other steps end the deliveries of a disabled subscription and review endpoints that fail.
 */
export const webhooksProcess = defineProcess<
  AssessmentEvent | WebhookSubscriptionEvent | WebhookDeliveryEvent | WebhookRecoveryEvent,
  ProcessDependencies
>()({
  name: 'webhooks',
  version: 4,
  lookups: [endpoints],
  concurrency: ({ configuration }) => ({
    workers: configuration.webhookWorkers,
    perKey: configuration.webhookWorkersPerEndpoint,
    stepTimeoutMs: configuration.webhookTimeoutMs + 3_000,
  }),
  steps,
  on: {
    WebhookSubscribed: ({ data, revision }) => [
      insertRow(endpoints, {
        subscriptionId: data.subscriptionId,
        orgId: data.organisationId,
        status: 'active',
        eventTypes: data.eventTypes,
        endpointRevision: Number(revision),
      }),
    ],
    WebhookSubscriptionChanged: ({ data: { subscriptionId, eventTypes, isNewEndpoint }, revision }, todo) => {
      if (!isNewEndpoint) return [patchRow(endpoints, { subscriptionId, eventTypes })]
      const newEndpoint = { endpointRevision: Number(revision), failingSince: null }
      return [
        patchRow(endpoints, { subscriptionId, eventTypes, ...newEndpoint }),
        ...forgetReviews(subscriptionId, todo),
      ]
    },
    WebhookSubscriptionEnabled: ({ data, revision }) => [
      patchRow(endpoints, {
        subscriptionId: data.subscriptionId,
        status: 'active',
        endpointRevision: Number(revision),
        failingSince: null,
      }),
    ],
    WebhookSubscriptionDisabled: ({ data: { subscriptionId, disabledAt } }, todo) => [
      patchRow(endpoints, { subscriptionId, status: 'disabled' }),
      ...unwanted(subscriptionId, 'subscription_disabled', disabledAt, todo),
    ],
    WebhookSubscriptionDeleted: ({ data }, todo) => [
      destroySecretsLater(data, todo),
      removeRow(endpoints, { subscriptionId: data.subscriptionId }),
      ...unwanted(data.subscriptionId, 'subscription_deleted', data.deletedAt, todo),
    ],
    WebhookSecretsDestroyed: ({ data }, todo) => [todo.clear(data.subscriptionId, 'destroy-secrets')],
    // A warning moves only the review of its own row of failures.
    WebhookEndpointFailing: ({ data: { subscriptionId, failingSince, nextReviewAt } }, todo) => [
      todo.moveWhere('watch', { key: subscriptionId, payload: { failingSince } }, nextReviewAt),
    ],

    AssessmentCompleted: ({ id, data }, todo) => [
      deliverToAll(id, 'assessment.completed', data.assessmentId, data.completedAt, todo),
    ],
    AssessmentFailed: ({ id, data }, todo) => [
      deliverToAll(id, 'assessment.failed', data.assessmentId, data.failedAt, todo),
    ],
    AssessmentHumanReviewDecided: ({ id, data }, todo) => [
      deliverToAll(id, 'assessment.reviewed', data.assessmentId, data.decidedAt, todo),
    ],
    // A delivery of an event has its row already. A test has none: it begins with its stream.
    WebhookDeliveryScheduled: ({ data }, todo) =>
      data.origin === 'test' ? [deliverAgain(data, data.scheduledAt, todo)] : [],
    WebhookRedeliveryRequested: ({ data }, todo) => [
      todo.clear(keyOf(data), 'redeliver'),
      deliverAgain(data, data.requestedAt, todo),
    ],
    WebhookRedeliveryUnneeded: ({ data }, todo) => [todo.clear(keyOf(data), 'redeliver')],
    // For a disabled or deleted subscription there is nothing to do, and no event would remove its rows.
    WebhookRecoveryRequested: ({ data: { subscriptionId, recoveryId, requestedAt, deliveries } }, todo) =>
      deliveries.map(({ deliveryId, eventId }) =>
        todo.scheduleForEach('redeliver', endpoints, { subscriptionId, status: 'active' }, () => ({
          key: keyOf({ subscriptionId, eventId }),
          at: requestedAt,
          existing: 'replace',
          payload: { subscriptionId, deliveryId, recoveryId },
        })),
      ),

    WebhookDeliveryAttemptFailed: ({ data }, todo) => [...dueAgain(data, todo), ...failing(data, todo)],
    WebhookDeliveryBroughtForward: ({ data }, todo) => dueAgain(data, todo),
    WebhookDelivered: ({ data }, todo) => [...ended(data, todo), ...succeeding(data.subscriptionId, todo)],
    WebhookDeliveryFailed: ({ data }, todo) => [
      ...ended(data, todo),
      ...failing(data, todo),
      ...(data.statusCode === 410 ? gone(data, todo) : []),
    ],
    WebhookDeliveryCancelled: ({ data }, todo) => ended(data, todo),
  },
})

type Delivery = Pick<DeliverPayload, 'subscriptionId' | 'eventId'>

function keyOf({ subscriptionId, eventId }: Delivery): string {
  return `${subscriptionId}.${eventId}`
}

/** There may be no row: the subscription may have been disabled during the attempt. */
function dueAgain(delivery: Delivery & { readonly nextAttemptAt: string | null }, todo: WebhookTodos): RowChange[] {
  const { nextAttemptAt } = delivery
  return nextAttemptAt === null ? [] : [todo.moveWhere('deliver', { key: keyOf(delivery) }, nextAttemptAt)]
}

function ended(delivery: Delivery, todo: WebhookTodos): RowChange[] {
  const key = keyOf(delivery)
  return [todo.clear(key, 'deliver'), todo.clear(key, 'cancel'), todo.clear(key, 'redeliver')]
}

/** The stream of the delivery exists. */
function deliverAgain(
  delivery: Delivery & Pick<DeliverPayload, 'eventType' | 'assessmentId'>,
  at: string,
  todo: WebhookTodos,
): RowChange {
  const { subscriptionId, eventId, eventType, assessmentId } = delivery
  return todo.schedule('deliver', keyOf(delivery), {
    at,
    concurrencyKey: subscriptionId,
    existing: 'replace',
    payload: { subscriptionId, eventId, eventType, assessmentId, occurredAt: null },
  })
}

/** One delivery for each active subscription of the organisation with this event type. */
function deliverToAll(
  eventId: string,
  eventType: WebhookEventType,
  assessmentId: string,
  occurredAt: string,
  todo: WebhookTodos,
): RowChange {
  return todo.scheduleForEach(
    'deliver',
    endpoints,
    { orgId: todo.orgId, status: 'active', eventTypes: { contains: [eventType] } },
    (endpoint) => ({
      key: [endpoint('subscriptionId'), `.${eventId}`],
      at: occurredAt,
      concurrencyKey: endpoint('subscriptionId'),
      payload: { subscriptionId: endpoint('subscriptionId'), eventId, eventType, assessmentId, occurredAt },
    }),
  )
}

import { defineTable, type RowChange, type WhereOf } from '../../engine/projections/projector.ts'
import { patchRows, type Members } from '../../engine/projections/row-changes.ts'
import type { CancelReason, FailedEndpoint } from '../../streams/webhook-delivery/events.ts'
import { SubscriptionStatus } from '../../streams/webhook-subscriptions/events.ts'
import { noConcurrencyKey } from '../../engine/processes/todo-tables.ts'
import type { WebhookTodos } from './webhooks.steps.ts'

/** The endpoints of subscriptions at an event's place in `$all`. */
export const endpoints = defineTable({
  name: 'endpoints',
  columns: {
    subscription_id: 'text',
    org_id: 'text',
    status: { type: 'text', values: SubscriptionStatus.enum },
    event_types: 'jsonb',
    /** The revision of the event that set this endpoint. Earlier failures belong to another endpoint. */
    endpoint_revision: 'integer',
    /** The first failure after which nothing was delivered. */
    failing_since: { type: 'timestamptz', nullable: true },
  },
  primaryKey: ['subscription_id'],
  indexes: [{ columns: ['org_id'] }],
})

interface Failure {
  readonly subscriptionId: string
  readonly endpoint: FailedEndpoint
  readonly failedAt: string
}

/** The endpoint that failed, unless it was changed or disabled meanwhile. */
function activeEndpoint(subscriptionId: string, endpointRevision: number): Members<WhereOf<typeof endpoints>> {
  return { subscriptionId, endpointRevision, status: 'active' }
}

/**
 * The first failure in a row starts the watch of the endpoint. Failures of an older address or of a test do not count.
 */
export function failing({ subscriptionId, endpoint, failedAt }: Failure, todo: WebhookTodos): RowChange[] {
  if (endpoint === null) return []
  const active = activeEndpoint(subscriptionId, endpoint.revision)
  return [
    patchRows(endpoints, { ...active, failingSince: null }, { failingSince: failedAt }),
    todo.scheduleForEach('watch', endpoints, { ...active, failingSince: failedAt }, (failed) => ({
      key: failed('subscriptionId'),
      at: endpoint.reviewAt,
      existing: 'replace',
      payload: { endpointRevision: failed('endpointRevision'), failingSince: failedAt },
    })),
  ]
}

/** The receiver answered 410, so its subscription is disabled, unless it has another endpoint now. */
export function gone({ subscriptionId, endpoint, failedAt }: Failure, todo: WebhookTodos): RowChange[] {
  if (endpoint === null) return []
  const active = activeEndpoint(subscriptionId, endpoint.revision)
  return [
    todo.scheduleForEach('disable', endpoints, active, (failed) => ({
      key: failed('subscriptionId'),
      at: failedAt,
      existing: 'replace',
      payload: { endpointRevision: failed('endpointRevision') },
    })),
  ]
}

/** Much longer than an attempt that began before the deletion. */
const mayBeUnderWayMs = 3_600_000

/** The secrets of a deleted subscription are destroyed when no attempt can need them. */
export function destroySecretsLater(
  { subscriptionId, deletedAt }: { readonly subscriptionId: string; readonly deletedAt: string },
  todo: WebhookTodos,
): RowChange {
  const at = new Date(Date.parse(deletedAt) + mayBeUnderWayMs).toISOString()
  return todo.scheduleForEach('destroy-secrets', endpoints, { subscriptionId }, (endpoint) => ({
    key: endpoint('subscriptionId'),
    at,
  }))
}

export function succeeding(subscriptionId: string, todo: WebhookTodos): RowChange[] {
  return [patchRows(endpoints, { subscriptionId }, { failingSince: null }), todo.clear(subscriptionId, 'watch')]
}

export function forgetReviews(subscriptionId: string, todo: WebhookTodos): RowChange[] {
  return [todo.clear(subscriptionId, 'watch'), todo.clear(subscriptionId, 'disable')]
}

/** Cancels all pending deliveries of a subscription, even if it is enabled again later. */
export function unwanted(subscriptionId: string, reason: CancelReason, at: string, todo: WebhookTodos): RowChange[] {
  return [
    ...todo.replaceWhere('deliver', { concurrencyKey: subscriptionId }, 'cancel', (delivery) => ({
      at,
      existing: 'replace',
      payload: { reason, delivery },
    })),
    todo.clearWhere('redeliver', { concurrencyKey: noConcurrencyKey, payload: { subscriptionId } }),
    ...forgetReviews(subscriptionId, todo),
  ]
}

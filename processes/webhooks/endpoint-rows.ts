import type { CancelReason } from '../../commands/webhooks/cancel-delivery.ts'
import {
  defineTable,
  insertSelect,
  patchWhere,
  remove,
  removeWhere,
  type Expression,
  type RowChange,
} from '../../projections/runtime/projector.ts'
import type { FailedEndpoint } from '../../streams/webhook-delivery/events.ts'
import type { RecordedEvent } from '../../streams/store/events.ts'
import { freeLane, laneTodoTable } from '../runtime/process.ts'
import { causeOf } from '../runtime/step-identity.ts'

/** The endpoints of subscriptions as they stand at an event's place in `$all`. */
export const endpoints = defineTable({
  name: 'endpoints',
  columns: {
    subscription_id: 'text',
    org_id: 'text',
    status: 'text',
    event_types: 'jsonb',
    /** Revision of the event that made the endpoint what it is: what failed before that is of another one. */
    endpoint_revision: 'integer',
    /** The first failure after which nothing was delivered. */
    failing_since: { type: 'timestamptz', nullable: true },
  },
  primaryKey: ['subscription_id'],
  indexes: [{ columns: ['org_id'] }],
})

type Source = Pick<RecordedEvent, 'id' | 'metadata'>

interface Failure {
  readonly subscriptionId: string
  readonly endpoint: FailedEndpoint
  readonly failedAt: string
}

/** The first failure of a row of them has the endpoint watched; late ones of another address or of a test count for nothing. */
export function failing(event: Source & { readonly data: Failure }): RowChange[] {
  const { subscriptionId, endpoint, failedAt } = event.data
  if (endpoint === null) return []
  const active = { subscription_id: subscriptionId, endpoint_revision: endpoint.revision, status: 'active' }
  const watched = { endpointRevision: { column: 'endpoint_revision' }, failingSince: { value: failedAt } }
  return [
    patchWhere(endpoints, { ...active, failing_since: null }, { failing_since: failedAt }),
    insertSelect(laneTodoTable, {
      from: endpoints,
      where: { ...active, failing_since: failedAt },
      existing: 'replace',
      columns: endpointRow(event, 'watch', endpoint.reviewAt, watched),
    }),
  ]
}

/** The receiver answered 410: its subscription is to be disabled, unless it has another endpoint by now. */
export function disableRow(event: Source & { readonly data: Failure }): RowChange[] {
  const { subscriptionId, endpoint, failedAt } = event.data
  if (endpoint === null) return []
  return [
    insertSelect(laneTodoTable, {
      from: endpoints,
      where: { subscription_id: subscriptionId, endpoint_revision: endpoint.revision, status: 'active' },
      existing: 'replace',
      columns: endpointRow(event, 'disable', failedAt, { endpointRevision: { column: 'endpoint_revision' } }),
    }),
  ]
}

/** Far longer than an attempt takes that began before the deletion. */
const mayBeUnderWayMs = 3_600_000

/** What a deleted subscription was signed with is to be destroyed once no attempt can need it. */
export function destroyRow(
  event: Source & { readonly data: { readonly subscriptionId: string; readonly deletedAt: string } },
): RowChange {
  const { subscriptionId, deletedAt } = event.data
  return insertSelect(laneTodoTable, {
    from: endpoints,
    where: { subscription_id: subscriptionId },
    columns: endpointRow(event, 'destroy-secrets', new Date(Date.parse(deletedAt) + mayBeUnderWayMs).toISOString(), {}),
  })
}

function endpointRow(event: Source, step: string, at: string, payload: Readonly<Record<string, Expression>>) {
  return {
    key: { column: 'subscription_id' },
    step: { value: step },
    org_id: { column: 'org_id' },
    due_at: { value: at },
    lane: { value: freeLane },
    payload: { json: { cause: { value: causeOf(event) }, ...payload } },
  }
}

/** A warning moves the review of the very row of failures that it speaks of. */
export function reviewedAgain({
  subscriptionId,
  failingSince,
  nextReviewAt,
}: {
  subscriptionId: string
  failingSince: string
  nextReviewAt: string
}): RowChange[] {
  return [
    patchWhere(
      laneTodoTable,
      { key: subscriptionId, step: 'watch', payload: { contains: { failingSince } } },
      { due_at: nextReviewAt },
    ),
  ]
}

export function succeeding(subscriptionId: string): RowChange[] {
  return [
    patchWhere(endpoints, { subscription_id: subscriptionId }, { failing_since: null }),
    remove(laneTodoTable, { key: subscriptionId, step: 'watch' }),
  ]
}

export function forgetReviews(subscriptionId: string): RowChange[] {
  return ['watch', 'disable'].map((step) => remove(laneTodoTable, { key: subscriptionId, step }))
}

/** Nobody wants the deliveries of a subscription that are pending: each is to be cancelled, whatever becomes of the subscription then. */
export function unwanted(
  event: Source & { readonly data: { readonly subscriptionId: string } },
  reason: CancelReason,
  at: string,
): RowChange[] {
  const { subscriptionId } = event.data
  const pending = { lane: subscriptionId, step: 'deliver' }
  return [
    insertSelect(laneTodoTable, {
      from: laneTodoTable,
      where: pending,
      existing: 'replace',
      columns: {
        key: { column: 'key' },
        step: { value: 'cancel' },
        org_id: { column: 'org_id' },
        due_at: { value: at },
        lane: { value: freeLane },
        payload: {
          json: { cause: { value: causeOf(event) }, reason: { value: reason }, delivery: { column: 'payload' } },
        },
      },
    }),
    removeWhere(laneTodoTable, pending),
    removeWhere(laneTodoTable, { lane: freeLane, step: 'redeliver', payload: { contains: { subscriptionId } } }),
    ...forgetReviews(subscriptionId),
  ]
}

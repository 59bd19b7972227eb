import { Type, type Static } from 'typebox'
import { waitsUntil, type NewDelivery } from '../../commands/webhooks/deliver-webhook.ts'
import { Nullable } from '../../engine/aggregates/types.ts'
import { deliveryIdOf, type WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import { DeliveredEventType } from '../../streams/webhook-delivery/events.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'

export const DeliverPayload = Type.Object({
  subscriptionId: Type.String(),
  eventId: Type.String(),
  eventType: DeliveredEventType,
  /** Null for a test. */
  assessmentId: Nullable(Type.String()),
  /** The instant of the event, RFC 3339. Null if the stream of the delivery existed before its row. */
  occurredAt: Nullable(Type.String()),
})
export type DeliverPayload = Static<typeof DeliverPayload>

/** The first event of a delivery's stream, if the stream does not exist yet. */
export function deliveryOf(
  todo: Pick<Todo, 'orgId' | 'dueAt'>,
  { subscriptionId, eventId, eventType, assessmentId, occurredAt }: DeliverPayload,
): NewDelivery {
  return {
    deliveryId: deliveryIdOf(subscriptionId, eventId),
    subscriptionId,
    eventId,
    organisationId: todo.orgId,
    origin: eventType === 'webhook.test' ? 'test' : 'event',
    eventType,
    assessmentId,
    occurredAt: occurredAt ?? todo.dueAt.toISOString(),
    request: null,
  }
}

/**
 * The outcome of a step that appended nothing: another attempt is open or none is due (wait), or the delivery has
 * ended.
 */
export function unsettled(
  state: WebhookDeliveryState,
  { now, endedLeases }: Pick<StepContext, 'now' | 'endedLeases'>,
): StepOutcome {
  const until = state.status === 'pending' ? waitsUntil(state, now(), endedLeases) : null
  return until === null ? { kind: 'done' } : { kind: 'wait', until }
}

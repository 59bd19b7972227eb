import { Type, type Static } from 'typebox'
import type { NewDelivery } from '../../commands/webhooks/deliver-webhook.ts'
import { Nullable } from '../../engine/aggregates/types.ts'
import { deliveryIdOf } from '../../streams/webhook-delivery/aggregate.ts'
import { DeliveredEventType } from '../../streams/webhook-delivery/events.ts'
import type { Todo } from '../../engine/processes/define-process.ts'

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

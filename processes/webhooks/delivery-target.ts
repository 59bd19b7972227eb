import { Type, type Static } from 'typebox'
import { waitsUntil, type NewDelivery } from '../../commands/webhooks/deliver-webhook.ts'
import { Nullable } from '../../streams/types.ts'
import { deliveryIdOf, type WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import { DeliveredEventType } from '../../streams/webhook-delivery/events.ts'
import type { Todo } from '../runtime/define-process.ts'
import type { StepOutcome } from '../runtime/process.ts'

export const DeliverPayload = Type.Object({
  subscriptionId: Type.String(),
  eventId: Type.String(),
  eventType: DeliveredEventType,
  /** Null for a test. */
  assessmentId: Nullable(Type.String()),
  /** When what is told happened, RFC 3339; null where the delivery's stream is there before its row. */
  occurredAt: Nullable(Type.String()),
})
export type DeliverPayload = Static<typeof DeliverPayload>

/** What begins the stream of a delivery that a row stands for, unless it is there. */
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

/** Where a step found nothing to append: somebody is at an attempt, none is due yet, or the delivery has ended, which takes the row away. */
export function unsettled(state: WebhookDeliveryState, now: Date): StepOutcome {
  const until = state.status === 'pending' ? waitsUntil(state, now) : null
  return until === null ? { kind: 'done' } : { kind: 'wait', until }
}

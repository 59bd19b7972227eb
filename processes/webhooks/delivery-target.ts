import { waitsUntil, type NewDelivery } from '../../commands/webhooks/deliver-webhook.ts'
import { webhookDeliveries, type WebhookDeliveryState, deliveryIdOf } from '../../streams/webhook-delivery/aggregate.ts'
import type { StepOutcome, Todo } from '../runtime/process.ts'
import { orgOf } from '../runtime/step-identity.ts'
import type { DeliverPayload } from './todo-payloads.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

export function targetOf(orgId: TenantId, deliveryId: string) {
  return webhookDeliveries.of(orgId, deliveryId)
}

/** What begins the stream of a delivery that a row stands for, unless it is there. */
export function deliveryOf(
  todo: Todo,
  { subscriptionId, eventId, eventType, assessmentId, occurredAt }: DeliverPayload,
): NewDelivery {
  return {
    deliveryId: deliveryIdOf(subscriptionId, eventId),
    subscriptionId,
    eventId,
    organisationId: orgOf(todo),
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

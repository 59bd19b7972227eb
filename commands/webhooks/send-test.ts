import type { CausingRequest } from '../../engine/aggregates/types.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import type { WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import { refused, repeated, type Decision } from '../../engine/commands/decision.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

export interface SendTest {
  readonly deliveryId: string
  readonly subscriptionId: string
  readonly organisationId: TenantId
  /** An id of the test itself, because no event caused it. */
  readonly eventId: string
  readonly isActive: boolean
  readonly request: CausingRequest
  readonly now: Date
}

/** A test delivery reports no event. It is cancelled if its subscription is disabled before the attempt. */
export function sendTest(
  command: SendTest,
  state: WebhookDeliveryState,
): Decision<WebhookDeliveryEvent, 'webhook-subscription-disabled' | 'idempotency-key-reused'> {
  const { deliveryId, subscriptionId, organisationId, eventId, isActive, request, now } = command
  if (state.status !== 'absent')
    return repeated({ fingerprint: fingerprintOf(request) }, { fingerprint: fingerprintOf(state.request) })
  if (!isActive) return refused('webhook-subscription-disabled')
  const at = now.toISOString()
  const named = {
    deliveryId,
    subscriptionId,
    organisationId,
    eventId,
    eventType: 'webhook.test' as const,
    assessmentId: null,
  }
  return [
    { type: 'WebhookDeliveryScheduled', data: { ...named, origin: 'test', occurredAt: at, scheduledAt: at, request } },
  ]
}

function fingerprintOf(request: CausingRequest): string | null {
  return request?.fingerprint ?? null
}

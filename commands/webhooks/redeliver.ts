import type { CausingRequest } from '../../streams/types.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import type { WebhookDeliveryState } from '../../streams/webhook-delivery/state.ts'
import { refuse, type Decision } from '../handling/decision.ts'

export interface Redeliver {
  readonly subscriptionId: string
  readonly isActive: boolean
  /** The recovery that asks; null when a client asks for this one. */
  readonly recoveryId: string | null
  readonly request: CausingRequest
  readonly now: Date
}

/**
 * What has ended is sent again under its own id, through a whole round of the schedule. What is pending is on its way
 * already: a delivery has one round at a time, however often it is asked for.
 */
export function redeliver(command: Redeliver, state: WebhookDeliveryState): Decision<WebhookDeliveryEvent> {
  const { subscriptionId, isActive, recoveryId, request, now } = command
  if (state.status === 'absent' || state.subscriptionId !== subscriptionId) return refuse('not-found')
  const earlier = earlierRequest(command, state)
  if (earlier !== undefined) return earlier.fingerprint === request?.fingerprint ? [] : refuse('idempotency-key-reused')
  if (!isActive) return refuse('webhook-subscription-disabled')
  if (state.status === 'pending') return []
  const { deliveryId, eventId, eventType, assessmentId } = state
  const named = { deliveryId, subscriptionId: state.subscriptionId, eventId, eventType, assessmentId }
  return [{ type: 'WebhookRedeliveryRequested', data: { ...named, recoveryId, request, requestedAt: now.toISOString() } }]
}

/** Whether this very request, by its key, has had it delivered again before. */
export function isRepeatedRedelivery(command: Redeliver, state: WebhookDeliveryState): boolean {
  return earlierRequest(command, state) !== undefined
}

function earlierRequest({ request }: Redeliver, state: WebhookDeliveryState) {
  if (state.status === 'absent' || request === null) return undefined
  return state.redeliveries.find(({ key }) => key === request.key)
}

import type { CausingRequest } from '../../engine/aggregates/types.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import { webhookDeliveries, type WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import { isRefusal, refused, type Decision } from '../../engine/commands/decision.ts'

type Scheduled = Extract<WebhookDeliveryEvent, { type: 'WebhookDeliveryScheduled' }>

export interface Redeliver {
  readonly subscriptionId: string
  /** The first event of a due delivery that was never attempted. Null if no such delivery has this id. */
  readonly due: Scheduled['data'] | null
  /** Status and revisions of the subscription at the time of the request. */
  readonly isActive: boolean
  readonly endpointRevision: number
  readonly disabledRevision: number | null
  /** Null if a client requests this delivery alone. */
  readonly recoveryId: string | null
  readonly request: CausingRequest
  readonly now: Date
}

/** Limit of keyed requests that one round records. Without it, new keys would make the stream grow for ever. */
const mostKeysOfRound = 20

export type RedeliveryRefusal =
  | 'not-found'
  | 'idempotency-key-reused'
  | 'webhook-subscription-disabled'
  | 'webhook-delivery-pending'

/**
 * Sends an ended delivery again under its own id, through a whole round of the schedule. A delivery has one round at a
 * time, so a request for a pending delivery begins none. A recovery begins none if the delivery has succeeded since.
 *
 * A keyed request or a recovery is recorded even if no round begins, because a repeat must not begin one later. The
 * first request after a disabling is recorded too, because the disabling may still cancel the pending delivery.
 */
export function redeliver(
  command: Redeliver,
  state: WebhookDeliveryState,
): Decision<WebhookDeliveryEvent, RedeliveryRefusal> {
  const { subscriptionId, due, isActive, endpointRevision, disabledRevision, recoveryId, request, now } = command
  if (state.status === 'absent' && due !== null) {
    const scheduled: Scheduled = { type: 'WebhookDeliveryScheduled', data: due }
    const decision = redeliver(command, webhookDeliveries.evolve(state, scheduled))
    return isRefusal(decision) ? decision : [scheduled, ...decision]
  }
  const at = now.toISOString()
  if (state.status === 'absent' || state.subscriptionId !== subscriptionId) return refused('not-found')
  const earlier = earlierRequest(command, state)
  if (earlier !== undefined) return earlier === request?.fingerprint ? [] : refused('idempotency-key-reused')
  if (recoveryId !== null && state.recoveries.has(recoveryId)) return []
  if (!isActive) return refused('webhook-subscription-disabled')
  const { deliveryId, eventId, eventType, assessmentId } = state
  const named = { deliveryId, subscriptionId, eventId, endpointRevision, recoveryId, request }
  if (state.status === 'pending' || (recoveryId !== null && state.status === 'delivered')) {
    if (request !== null && state.keysOfRound >= mostKeysOfRound) return refused('webhook-delivery-pending')
    const mayBeCancelled = disabledRevision !== null && (state.askedOf ?? -1) < disabledRevision
    const isRemembered = request !== null || recoveryId !== null || mayBeCancelled
    return isRemembered ? [{ type: 'WebhookRedeliveryUnneeded', data: { ...named, decidedAt: at } }] : []
  }
  return [{ type: 'WebhookRedeliveryRequested', data: { ...named, eventType, assessmentId, requestedAt: at } }]
}

/** Whether an earlier request with the same key requested this delivery. */
export function isRepeatedRedelivery(command: Redeliver, state: WebhookDeliveryState): boolean {
  return earlierRequest(command, state) !== undefined
}

function earlierRequest({ request }: Redeliver, state: WebhookDeliveryState): string | undefined {
  return state.status === 'absent' || request === null ? undefined : state.redeliveries.get(request.key)
}

import type { CausingRequest } from '../../streams/types.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import { webhookDeliveries, type WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import { isRefusal, refused, type Decision } from '../handling/decision.ts'

type Scheduled = Extract<WebhookDeliveryEvent, { type: 'WebhookDeliveryScheduled' }>

export interface Redeliver {
  readonly subscriptionId: string
  /** The first event of a delivery that is due and was never attempted. Null where no such delivery has this id. */
  readonly due: Scheduled['data'] | null
  /** Status and revisions of the subscription, as the request found them. */
  readonly isActive: boolean
  readonly endpointRevision: number
  readonly disabledRevision: number | null
  /** Null when a client asks for this delivery alone. */
  readonly recoveryId: string | null
  readonly request: CausingRequest
  readonly now: Date
}

/** Keyed requests that one round records. Without a limit, fresh keys would make the stream grow for ever. */
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
 * A request with a key and a recovery are recorded also where no round begins: a repeat must not begin one later. The
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

/** Whether an earlier request with the same key asked for this delivery. */
export function isRepeatedRedelivery(command: Redeliver, state: WebhookDeliveryState): boolean {
  return earlierRequest(command, state) !== undefined
}

function earlierRequest({ request }: Redeliver, state: WebhookDeliveryState): string | undefined {
  return state.status === 'absent' || request === null ? undefined : state.redeliveries.get(request.key)
}

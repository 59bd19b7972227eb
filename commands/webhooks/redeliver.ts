import type { CausingRequest } from '../../streams/types.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import { webhookDeliveries, type WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import { isRefusal, refused, type Decision } from '../handling/decision.ts'

type Scheduled = Extract<WebhookDeliveryEvent, { type: 'WebhookDeliveryScheduled' }>

export interface Redeliver {
  readonly subscriptionId: string
  /** Begins the stream of a delivery that is due and was never attempted; null where none of that id is due. */
  readonly due: Scheduled['data'] | null
  /** The rest is of the subscription as whoever asks found it. */
  readonly isActive: boolean
  readonly endpointRevision: number
  readonly disabledRevision: number | null
  /** The recovery that asks; null when a client asks for this one. */
  readonly recoveryId: string | null
  readonly request: CausingRequest
  readonly now: Date
}

/** Keys that are remembered of a round without another one of their own: fresh ones would make the stream grow without end. */
const mostKeysOfRound = 20

export type RedeliveryRefusal =
  | 'not-found'
  | 'idempotency-key-reused'
  | 'webhook-subscription-disabled'
  | 'webhook-delivery-pending'

/**
 * What has ended is sent again under its own id, through a whole round of the schedule. What is pending is on its way
 * already: a delivery has one round at a time, however often it is asked for. A recovery wants what failed or was cancelled:
 * somebody may have had it delivered since. Whoever asks again by a key, or for a recovery, is remembered also where
 * nothing begins, so that the same question never begins a round later; and whoever asks since the subscription was last
 * disabled, since what is pending may still be cancelled for that.
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

/** Whether this very request, by its key, has asked for it before. */
export function isRepeatedRedelivery(command: Redeliver, state: WebhookDeliveryState): boolean {
  return earlierRequest(command, state) !== undefined
}

function earlierRequest({ request }: Redeliver, state: WebhookDeliveryState): string | undefined {
  return state.status === 'absent' || request === null ? undefined : state.redeliveries.get(request.key)
}

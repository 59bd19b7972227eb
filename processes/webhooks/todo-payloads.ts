import type { CancelReason } from '../../commands/webhooks/cancel-delivery.ts'
import type { DeliveredEventType } from '../../streams/webhook-delivery/events.ts'
import type { CausedPayload } from '../runtime/step-identity.ts'

/** `deliver`: an attempt is due. */
export interface DeliverPayload extends CausedPayload {
  readonly subscriptionId: string
  readonly eventId: string
  readonly eventType: DeliveredEventType
  /** Null for a test. */
  readonly assessmentId: string | null
  /** When what is told happened, RFC 3339; null where the delivery's stream is there before its row. */
  readonly occurredAt: string | null
}

/** `cancel`: the subscription was disabled or deleted before this was delivered. */
export interface CancelPayload extends CausedPayload {
  readonly reason: CancelReason
  /** Of the row that was to deliver it. */
  readonly delivery: DeliverPayload
}

/** `redeliver`: one of the deliveries of a recovery. */
export interface RedeliverPayload extends CausedPayload {
  readonly subscriptionId: string
  readonly deliveryId: string
  readonly recoveryId: string
}

/** `disable`: the endpoint has answered 410. */
export interface DisablePayload extends CausedPayload {
  readonly endpointRevision: number
}

/** `watch`: nothing was delivered since. */
export interface WatchPayload extends CausedPayload {
  readonly endpointRevision: number
  /** RFC 3339. */
  readonly failingSince: string
}

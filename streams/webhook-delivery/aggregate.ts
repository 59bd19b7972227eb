import { createHash } from 'node:crypto'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { webhookDeliveryEvents, type DeliveryErrorClass, type WebhookDeliveryEvent } from './events.ts'
import type { DataOf } from '../../engine/store/events.ts'

/** Each request to deliver again may add a round of attempts, so state and records have only the newest. */
export const mostAttempts = 100

/** An attempt with a known outcome. */
interface FinishedAttempt {
  readonly attempt: number
  readonly at: string
  /** Null if no response arrived. */
  readonly statusCode: number | null
  readonly durationMs: number
  /** Null if the receiver accepted it. */
  readonly errorClass: DeliveryErrorClass | null
}

interface Delivery extends DataOf<WebhookDeliveryEvent, 'WebhookDeliveryScheduled'> {
  /** The newest ones. */
  readonly attempts: readonly FinishedAttempt[]
  /** Number of the last attempt with a known outcome. An attempt that a crash cut off uses no place in the schedule. */
  readonly finishedAttempts: number
  /** `finishedAttempts` at the last request to deliver again. Later attempts fix the place in the schedule. */
  readonly roundFrom: number
  /**
   * The subscription's `endpointRevision` at the request for this round. Null for the first round, and for rounds from
   * before this was recorded.
   */
  readonly roundOf: number | null
  /** The same for the latest request, even if no round started. */
  readonly askedOf: number | null
  /** Keyed requests that arrived during this round. */
  readonly keysOfRound: number
  readonly openAttemptedAt: string | null
  readonly openLeaseUntil: string | null
  /** Null after the end. */
  readonly nextAttemptAt: string | null
  /** Fingerprints of the keyed requests to deliver it again, by the HMAC of their key. */
  readonly redeliveries: GrowingMap<string>
  /** Recoveries that requested this delivery and have an answer. */
  readonly recoveries: GrowingMap<true>
}

export type WebhookDeliveryState =
  | { readonly status: 'absent' }
  | (Delivery & { readonly status: 'pending' })
  | (Delivery & { readonly status: 'delivered' })
  | (Delivery & { readonly status: 'failed' })
  | (Delivery & { readonly status: 'cancelled' })

function evolve(state: WebhookDeliveryState, event: WebhookDeliveryEvent): WebhookDeliveryState {
  if (event.type === 'WebhookDeliveryScheduled') return scheduled(event.data)
  if (state.status === 'absent') return state
  switch (event.type) {
    case 'WebhookDeliveryAttempted':
      return { ...state, openAttemptedAt: event.data.attemptedAt, openLeaseUntil: event.data.leaseUntil }
    case 'WebhookDelivered':
      return {
        ...state,
        ...finished(state, event.data, event.data.deliveredAt, null),
        status: 'delivered',
        nextAttemptAt: null,
      }
    case 'WebhookDeliveryAttemptFailed': {
      const { errorClass, failedAt, nextAttemptAt } = event.data
      return { ...state, ...finished(state, event.data, failedAt, errorClass), nextAttemptAt }
    }
    case 'WebhookDeliveryBroughtForward':
      return { ...state, nextAttemptAt: event.data.nextAttemptAt }
    case 'WebhookDeliveryFailed': {
      const { errorClass, failedAt } = event.data
      return { ...state, ...finished(state, event.data, failedAt, errorClass), status: 'failed', nextAttemptAt: null }
    }
    case 'WebhookDeliveryCancelled':
      // An attempt may be running. Its lease stays, and the receiver's answer is recorded after this event.
      return { ...state, status: 'cancelled', nextAttemptAt: null }
    case 'WebhookRedeliveryRequested': {
      const { endpointRevision, requestedAt } = event.data
      const round = {
        roundFrom: state.finishedAttempts,
        roundOf: endpointRevision,
        keysOfRound: 0,
        nextAttemptAt: requestedAt,
      }
      return { ...state, ...asked(state, event.data), ...round, status: 'pending' }
    }
    case 'WebhookRedeliveryUnneeded':
      return {
        ...state,
        ...asked(state, event.data),
        keysOfRound: state.keysOfRound + (event.data.request === null ? 0 : 1),
      }
  }
}

type Asking = Pick<
  DataOf<WebhookDeliveryEvent, 'WebhookRedeliveryRequested'>,
  'request' | 'recoveryId' | 'endpointRevision'
>

function asked(
  { redeliveries, recoveries }: Delivery,
  { request, recoveryId, endpointRevision }: Asking,
): Pick<Delivery, 'redeliveries' | 'recoveries' | 'askedOf'> {
  return {
    askedOf: endpointRevision,
    redeliveries:
      request === null || redeliveries.has(request.key)
        ? redeliveries
        : redeliveries.with(request.key, request.fingerprint),
    recoveries: recoveryId === null || recoveries.has(recoveryId) ? recoveries : recoveries.with(recoveryId, true),
  }
}

function scheduled(data: DataOf<WebhookDeliveryEvent, 'WebhookDeliveryScheduled'>): WebhookDeliveryState {
  const open = { openAttemptedAt: null, openLeaseUntil: null, nextAttemptAt: data.scheduledAt }
  const unasked = {
    roundFrom: 0,
    roundOf: null,
    askedOf: null,
    keysOfRound: 0,
    redeliveries: new GrowingMap<string>(),
    recoveries: new GrowingMap<true>(),
  }
  return { ...data, ...open, ...unasked, status: 'pending', attempts: [], finishedAttempts: 0 }
}

type Outcome = Pick<DataOf<WebhookDeliveryEvent, 'WebhookDeliveryFailed'>, 'attempt' | 'statusCode' | 'durationMs'>

function finished(
  state: Delivery,
  { attempt, statusCode, durationMs }: Outcome,
  endedAt: string,
  errorClass: DeliveryErrorClass | null,
) {
  const ended = { attempt, statusCode, durationMs, errorClass }
  // The attempt ended before with another outcome. A later one may be open.
  if (attempt <= state.finishedAttempts)
    return { attempts: state.attempts.map((one) => (one.attempt === attempt ? { ...one, ...ended } : one)) }
  const at = state.openAttemptedAt ?? endedAt
  const attempts = [...state.attempts, { ...ended, at }].slice(-mostAttempts)
  return { attempts, finishedAttempts: attempt, openAttemptedAt: null, openLeaseUntil: null }
}

export const webhookDeliveries = defineAggregate({
  category: 'webhook_delivery',
  id: idOfOrganisation,
  events: webhookDeliveryEvents,
  initialState: { status: 'absent' },
  evolve,
})

/**
 * Id of the delivery of an event to a subscription. Every attempt sends it as `webhook-id`. It is a version 8 UUID from
 * SHA-256 (RFC 9562, B.2). Postgres computes the same value without an extension (decision 0020).
 */
export function deliveryIdOf(subscriptionId: string, eventId: string): string {
  const hash = createHash('sha256')
    .update(Buffer.from(subscriptionId.replaceAll('-', ''), 'hex'))
    .update(eventId)
    .digest()
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

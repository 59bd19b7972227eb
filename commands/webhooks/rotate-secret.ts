import type { CausingRequest } from '../../engine/aggregates/types.ts'
import type { PublicKey, WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import {
  liveSecrets,
  type KeyedRotation,
  type WebhookSubscription,
  type WebhookSubscriptionsState,
} from '../../streams/webhook-subscriptions/aggregate.ts'
import { refused, repeated, type Decision } from '../../engine/commands/decision.ts'

export interface RotateSecret {
  readonly subscriptionId: string
  readonly secretId: string
  readonly publicKey: PublicKey | null
  /** Time for which the previous secret also signs. */
  readonly graceSeconds: number
  readonly request: CausingRequest
  readonly now: Date
}

/** Each previous secret makes the header of every delivery longer. */
const mostPrevious = 4

/** From now on the new secret signs. The previous one also signs for the grace time. */
export function rotateSecret(
  command: RotateSecret,
  state: WebhookSubscriptionsState,
): Decision<WebhookSubscriptionEvent, 'not-found' | 'too-many-secrets' | 'idempotency-key-reused'> {
  const { subscriptionId, secretId, publicKey, graceSeconds, request, now } = command
  const own = state.subscriptions.get(subscriptionId)
  if (own === undefined) return refused('not-found')
  const earlier = keyedRotationOf(command, own)
  if (earlier !== undefined) return repeated({ fingerprint: request?.fingerprint ?? null }, earlier)
  const previous = liveSecrets(own, now).length - 1
  if (previous + Math.min(graceSeconds, 1) > mostPrevious) return refused('too-many-secrets')
  const previousValidUntil = new Date(now.getTime() + graceSeconds * 1000).toISOString()
  const data = { subscriptionId, secretId, publicKey, previousValidUntil, rotatedAt: now.toISOString(), request }
  return [{ type: 'WebhookSecretRotated', data }]
}

/** The rotation that an earlier request with the same key made. */
export function keyedRotationOf(
  { request }: Pick<RotateSecret, 'request'>,
  own: WebhookSubscription,
): KeyedRotation | undefined {
  return request === null ? undefined : own.keyedRotations.get(request.key)
}

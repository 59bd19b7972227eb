import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import {
  webhookSubscriptionEvents,
  type DisabledReason,
  type FailingPercent,
  type PublicKey,
  type SubscriptionStatus,
  type WebhookSubscriptionEvent,
} from './events.ts'

type Subscribed = Extract<WebhookSubscriptionEvent, { type: 'WebhookSubscribed' }>['data']

/** A secret that signs. The vault holds it under `secretId`. */
export interface WebhookSecret {
  readonly secretId: string
  readonly publicKey: PublicKey | null
  /** Null for the current one. */
  readonly validUntil: string | null
}

/** The outcome of a keyed request to rotate. */
export interface KeyedRotation {
  readonly fingerprint: string
  readonly secretId: string
}

export interface WebhookSubscription extends Omit<Subscribed, 'secretId' | 'publicKey'> {
  readonly status: SubscriptionStatus
  readonly disabledReason: DisabledReason | null
  readonly disabledAt: string | null
  readonly updatedAt: string
  /** Revision of the subscription's last change, in the stream that all subscriptions of the organisation share. */
  readonly revision: number
  /** Revision at which the endpoint got its present form: subscribed, moved to another address, or enabled again. */
  readonly endpointRevision: number
  /** Revision of the last disabling, kept after enabling again; null if there was none. */
  readonly disabledRevision: number | null
  /** The current secret first. Then older ones that were still valid when the current one was made, newest first. */
  readonly secrets: readonly [WebhookSecret, ...WebhookSecret[]]
  /** Those that had ended when the current one was made. Nothing needs them. */
  readonly endedSecrets: readonly WebhookSecret[]
  /** By the HMAC of their key. Includes rotations whose secret has ended. */
  readonly keyedRotations: GrowingMap<KeyedRotation>
  /** The last warning for the series of failures since `failingSince`. */
  readonly warned: {
    readonly failingSince: string
    readonly percent: FailingPercent
    readonly nextReviewAt: string
  } | null
}

export interface WebhookSubscriptionsState {
  /** Number of events so far. The stream is never truncated, so the next event has this revision. */
  readonly applied: number
  readonly subscriptions: ReadonlyMap<string, WebhookSubscription>
  /** Fingerprints of deleted subscriptions, by id. A repeat of their key creates nothing. */
  readonly deleted: GrowingMap<string | null>
  /** Deleted subscriptions whose secrets are destroyed. */
  readonly destroyed: GrowingMap<true>
}

function evolve(state: WebhookSubscriptionsState, event: WebhookSubscriptionEvent): WebhookSubscriptionsState {
  const { applied, subscriptions, deleted, destroyed } = state
  const { subscriptionId } = event.data
  const before = subscriptions.get(subscriptionId)
  if (event.type === 'WebhookSubscriptionDeleted') {
    const left = new Map(subscriptions)
    left.delete(subscriptionId)
    return {
      ...state,
      applied: applied + 1,
      subscriptions: left,
      deleted: deleted.with(subscriptionId, before?.fingerprint ?? null),
    }
  }
  if (event.type === 'WebhookSecretsDestroyed')
    return { ...state, applied: applied + 1, destroyed: destroyed.with(subscriptionId, true) }
  const after =
    event.type === 'WebhookSubscribed' ? subscribed(event.data, applied) : before && changed(before, event, applied)
  if (after === undefined) return { ...state, applied: applied + 1 }
  return { ...state, applied: applied + 1, subscriptions: new Map(subscriptions).set(subscriptionId, after) }
}

function subscribed({ secretId, publicKey, ...data }: Subscribed, revision: number): WebhookSubscription {
  return {
    ...data,
    status: 'active',
    disabledReason: null,
    disabledAt: null,
    updatedAt: data.createdAt,
    revision,
    endpointRevision: revision,
    disabledRevision: null,
    secrets: [{ secretId, publicKey, validUntil: null }],
    endedSecrets: [],
    keyedRotations: new GrowingMap(),
    warned: null,
  }
}

type Change = Exclude<
  WebhookSubscriptionEvent,
  { type: 'WebhookSubscribed' | 'WebhookSubscriptionDeleted' | 'WebhookSecretsDestroyed' }
>

function changed(before: WebhookSubscription, event: Change, revision: number): WebhookSubscription {
  const newEndpoint = { endpointRevision: revision, warned: null }
  switch (event.type) {
    case 'WebhookSubscriptionChanged': {
      const { isNewEndpoint, changedAt, ...data } = event.data
      return { ...before, ...data, ...(isNewEndpoint ? newEndpoint : {}), updatedAt: changedAt, revision }
    }
    case 'WebhookSubscriptionDisabled': {
      const { reason, disabledAt } = event.data
      return {
        ...before,
        status: 'disabled',
        disabledReason: reason,
        disabledAt,
        disabledRevision: revision,
        updatedAt: disabledAt,
        revision,
      }
    }
    case 'WebhookSubscriptionEnabled':
      return {
        ...before,
        ...newEndpoint,
        status: 'active',
        disabledReason: null,
        disabledAt: null,
        updatedAt: event.data.enabledAt,
        revision,
      }
    case 'WebhookSecretRotated':
      return { ...before, ...rotated(before, event.data), updatedAt: event.data.rotatedAt, revision }
    case 'WebhookEndpointFailing': {
      const { failingSince, percent, nextReviewAt } = event.data
      return { ...before, warned: { failingSince, percent, nextReviewAt } }
    }
  }
}

interface Rotation {
  readonly secretId: string
  readonly publicKey: PublicKey | null
  readonly previousValidUntil: string
  readonly rotatedAt: string
  readonly request: CausingRequest
}

function rotated(
  before: WebhookSubscription,
  { secretId, publicKey, previousValidUntil, rotatedAt, request }: Rotation,
) {
  const [current, ...earlier] = before.secrets
  const previous = [{ ...current, validUntil: previousValidUntil }, ...earlier]
  const isValid = ({ validUntil }: WebhookSecret) => validUntil === null || validUntil > rotatedAt
  const keyedRotations =
    request === null
      ? before.keyedRotations
      : before.keyedRotations.with(request.key, { fingerprint: request.fingerprint, secretId })
  const secrets = [{ secretId, publicKey, validUntil: null }, ...previous.filter(isValid)] as const
  return { secrets, endedSecrets: previous.filter((secret) => !isValid(secret)), keyedRotations }
}

/** One stream per organisation: it decides the limit and the duplicates. */
export const webhookSubscriptions = defineAggregate({
  category: 'webhook_subscriptions',
  id: (orgId: TenantId) => orgId,
  events: webhookSubscriptionEvents,
  initialState: {
    applied: 0,
    subscriptions: new Map(),
    deleted: new GrowingMap<string | null>(),
    destroyed: new GrowingMap<true>(),
  },
  evolve,
})

/**
 * The secrets that sign at an instant, the current one first. Text comparison is enough: all instants are UTC with
 * milliseconds.
 */
export function liveSecrets({ secrets }: Pick<WebhookSubscription, 'secrets'>, at: Date): readonly WebhookSecret[] {
  const instant = at.toISOString()
  return secrets.filter(({ validUntil }) => validUntil === null || validUntil > instant)
}

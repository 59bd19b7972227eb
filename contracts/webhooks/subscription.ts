import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import {
  DisabledReason,
  PayloadMode,
  SignatureScheme,
  SubscriptionStatus,
  WebhookEventType,
  type PublicKey,
} from '../../streams/webhook-subscriptions/events.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

const nullableText = Nullable(Type.String())

/** Specification 2.3. Only the answers that created the subscription or its secret contain `secret`. */
export const WebhookSubscriptionRecord = Type.Object(
  {
    id: Uuid,
    url: Type.String(),
    event_types: Type.Array(WebhookEventType),
    status: SubscriptionStatus,
    description: nullableText,
    payload_mode: PayloadMode,
    signature_schemes: Type.Array(SignatureScheme),
    secret: Type.Optional(Type.String({ description: '`whsec_` and base64, for `v1`' })),
    public_key_id: Nullable(Type.String({ description: 'The `kid` of the key list, for `v1a`' })),
    public_key: Nullable(Type.String({ description: 'Additive: `whpk_` and base64 of the 32 bytes, for `v1a`' })),
    disabled_reason: Nullable(DisabledReason),
    disabled_at: Nullable(Instant),
    created_at: Instant,
    updated_at: Instant,
  },
  { $id: 'WebhookSubscriptionRecord' },
)
export type WebhookSubscriptionRecord = Static<typeof WebhookSubscriptionRecord>

type Made = 'id' | 'secret' | 'publicKeyId' | 'publicKey'
export type WebhookSubscriptionView = Omit<ValuesOf<typeof WebhookSubscriptionRecord>, Made> & {
  readonly subscriptionId: string
  readonly publicKey: PublicKey | null
}

/** @param secret `whsec_…`, only for the answers that created it */
export function toWebhookSubscriptionRecord(view: WebhookSubscriptionView, secret?: string): WebhookSubscriptionRecord {
  const { subscriptionId: id, publicKey: key } = view
  return toRecord(WebhookSubscriptionRecord, {
    ...view,
    id,
    secret,
    publicKeyId: key?.kid ?? null,
    publicKey: key === null ? null : `whpk_${Buffer.from(key.x, 'base64url').toString('base64')}`,
  })
}

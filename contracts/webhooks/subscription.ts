import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'

const nullableText = Nullable(Type.String())

/** Contract section 3, line 102. `secret` stands only in the answers that made the subscription or its secret. */
export const WebhookSubscriptionRecord = Type.Object(
  {
    id: Uuid,
    url: Type.String(),
    event_types: Type.Array(Type.Enum(['assessment.completed', 'assessment.failed'])),
    status: Type.Enum(['active', 'disabled']),
    description: nullableText,
    payload_mode: Type.Enum(['full', 'thin']),
    signature_schemes: Type.Array(Type.Enum(['v1', 'v1a'])),
    secret: Type.Optional(Type.String({ description: '`whsec_` and base64; of `v1`' })),
    public_key_id: Nullable(Type.String({ description: 'The `kid` of the key list; of `v1a`' })),
    public_key: Nullable(Type.String({ description: 'Additive: `whpk_` and base64 of the 32 bytes; of `v1a`' })),
    disabled_reason: Nullable(Type.Enum(['requested', 'gone', 'no_success'])),
    disabled_at: Nullable(Instant),
    created_at: Instant,
    updated_at: Instant,
  },
  { $id: 'WebhookSubscriptionRecord' },
)
export type WebhookSubscriptionRecord = Static<typeof WebhookSubscriptionRecord>

export interface WebhookSubscriptionView {
  readonly subscriptionId: string
  readonly url: string
  readonly eventTypes: readonly WebhookSubscriptionRecord['event_types'][number][]
  readonly status: WebhookSubscriptionRecord['status']
  readonly description: string | null
  readonly payloadMode: WebhookSubscriptionRecord['payload_mode']
  readonly signatureSchemes: readonly WebhookSubscriptionRecord['signature_schemes'][number][]
  /** Of the current key pair; `x` as a JWK has it. */
  readonly publicKey: { readonly kid: string; readonly x: string } | null
  readonly disabledReason: WebhookSubscriptionRecord['disabled_reason']
  readonly disabledAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

/** @param secret `whsec_…`, for the answers that made it only */
export function toWebhookSubscriptionRecord(view: WebhookSubscriptionView, secret?: string): WebhookSubscriptionRecord {
  const { publicKey } = view
  return {
    id: view.subscriptionId,
    url: view.url,
    event_types: [...view.eventTypes],
    status: view.status,
    description: view.description,
    payload_mode: view.payloadMode,
    signature_schemes: [...view.signatureSchemes],
    ...(secret === undefined ? {} : { secret }),
    public_key_id: publicKey?.kid ?? null,
    public_key: publicKey === null ? null : `whpk_${Buffer.from(publicKey.x, 'base64url').toString('base64')}`,
    disabled_reason: view.disabledReason,
    disabled_at: view.disabledAt,
    created_at: view.createdAt,
    updated_at: view.updatedAt,
  }
}

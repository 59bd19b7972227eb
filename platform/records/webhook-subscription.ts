import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../http/members.ts'

const nullableText = Nullable(Type.String())

/** Contract section 3, line 102. `secret` stands only in the answer that created the subscription. */
export const WebhookSubscriptionRecord = Type.Object(
  {
    id: Uuid,
    url: Type.String(),
    event_types: Type.Array(Type.Enum(['assessment.completed', 'assessment.failed'])),
    status: Type.Enum(['active', 'disabled']),
    description: nullableText,
    payload_mode: Type.Enum(['full', 'thin']),
    signature_schemes: Type.Array(Type.String()),
    secret: Type.Optional(Type.String()),
    public_key_id: nullableText,
    disabled_reason: nullableText,
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
  readonly description: string | null
  readonly payloadMode: WebhookSubscriptionRecord['payload_mode']
  readonly createdAt: string
}

/** @param secret `whsec_…`, for the creating answer only */
export function toWebhookSubscriptionRecord(view: WebhookSubscriptionView, secret?: string): WebhookSubscriptionRecord {
  return {
    id: view.subscriptionId,
    url: view.url,
    event_types: [...view.eventTypes],
    status: 'active',
    description: view.description,
    payload_mode: view.payloadMode,
    signature_schemes: ['v1'],
    ...(secret === undefined ? {} : { secret }),
    public_key_id: null,
    disabled_reason: null,
    disabled_at: null,
    created_at: view.createdAt,
    updated_at: view.createdAt,
  }
}

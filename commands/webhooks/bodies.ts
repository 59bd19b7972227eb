import { Type, type Static } from 'typebox'
import { DistinctList } from '../../platform/http/distinct-items.ts'
import { Nullable } from '../../platform/http/members.ts'

const url = Type.String({ minLength: 1, maxLength: 2048 })
const eventTypes = DistinctList(Type.Enum(['assessment.completed', 'assessment.failed']), { minItems: 1, maxItems: 20 })
const description = Nullable(Type.String({ maxLength: 255 }))
const payloadMode = Type.Enum(['full', 'thin'])

export const SubscribeWebhookBody = Type.Object(
  {
    url,
    event_types: eventTypes,
    description: Type.Optional(description),
    payload_mode: Type.Optional(payloadMode),
    signature_schemes: Type.Optional(
      DistinctList(Type.Enum(['v1', 'v1a']), {
        minItems: 1,
        maxItems: 2,
        description: 'Default: both. They never change.',
      }),
    ),
  },
  { $id: 'SubscribeWebhookBody', additionalProperties: false },
)
export type SubscribeWebhookBody = Static<typeof SubscribeWebhookBody>

export const ChangeWebhookSubscriptionBody = Type.Object(
  {
    url: Type.Optional(url),
    event_types: Type.Optional(eventTypes),
    description: Type.Optional(description),
    payload_mode: Type.Optional(payloadMode),
    status: Type.Optional(Type.Enum(['active', 'disabled'])),
  },
  { $id: 'ChangeWebhookSubscriptionBody', additionalProperties: false },
)
export type ChangeWebhookSubscriptionBody = Static<typeof ChangeWebhookSubscriptionBody>

export const RotateWebhookSecretBody = Type.Object(
  {
    grace_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 604_800,
        description: 'How long the secret before goes on signing too; 86400 unless it is said',
      }),
    ),
  },
  { $id: 'RotateWebhookSecretBody', additionalProperties: false },
)
export type RotateWebhookSecretBody = Static<typeof RotateWebhookSecretBody>

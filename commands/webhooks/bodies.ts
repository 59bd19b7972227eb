import { Type } from 'typebox'
import { DistinctList } from '../../platform/http/distinct-items.ts'
import { urlDocumented } from '../../platform/http/documented.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { Instant, Nullable } from '../../platform/http/members.ts'
import { invalidMember } from '../../platform/http/problems.ts'
import { checkOutboundUrl, urlRules } from '../../platform/outbound/addresses.ts'
import { outboundRules } from '../../platform/outbound/own-servers.ts'
import { mostRecovered } from '../../streams/webhook-recovery/events.ts'
import {
  PayloadMode,
  SignatureScheme,
  SubscriptionStatus,
  WebhookEventType,
} from '../../streams/webhook-subscriptions/events.ts'

const url = Type.String({ minLength: 1, maxLength: 2048, documented: urlDocumented })
const eventTypes = DistinctList(WebhookEventType, { minItems: 1, maxItems: 20 })
const description = Nullable(Type.String({ maxLength: 255 }))

export const SubscribeWebhookBody = Type.Object(
  {
    url,
    event_types: eventTypes,
    description: Type.Optional(description),
    payload_mode: Type.Optional(PayloadMode),
    signature_schemes: Type.Optional(
      DistinctList(SignatureScheme, {
        minItems: 1,
        maxItems: SignatureScheme.enum.length,
        description: 'Default: both. They never change.',
      }),
    ),
  },
  { $id: 'SubscribeWebhookBody', additionalProperties: false },
)

export const ChangeWebhookSubscriptionBody = Type.Object(
  {
    url: Type.Optional(url),
    event_types: Type.Optional(eventTypes),
    description: Type.Optional(description),
    payload_mode: Type.Optional(PayloadMode),
    status: Type.Optional(SubscriptionStatus),
  },
  { $id: 'ChangeWebhookSubscriptionBody', additionalProperties: false },
)

export const RotateWebhookSecretBody = Type.Object(
  {
    grace_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 604_800,
        description: 'Time for which the previous secret also signs. Default: 86400',
      }),
    ),
  },
  { $id: 'RotateWebhookSecretBody', additionalProperties: false },
)

export const RecoverWebhooksBody = Type.Object(
  { since: Instant, until: Type.Optional(Instant) },
  { $id: 'RecoverWebhooksBody', additionalProperties: false },
)

export const RecoverWebhooksReply = Type.Object(
  {
    deliveries: Type.Integer({
      description: `Number of deliveries found, at most ${mostRecovered}. A delivery that succeeds before its turn is not sent again`,
    }),
    has_more: Type.Boolean(),
  },
  { $id: 'RecoverWebhooksReply' },
)

/** Checks the address of a receiver against the profile and EGRESS_ALLOW. It throws `webhook-url-forbidden`. */
export function receiverUrlCheck(configuration: Configuration): (url: string) => void {
  const outbound = outboundRules(configuration)
  return (url) => {
    const checked = checkOutboundUrl(url, outbound)
    if ('url' in checked) return
    throw invalidMember('/url', urlRules[checked.refused], checked.refused, 'webhook-url-forbidden')
  }
}

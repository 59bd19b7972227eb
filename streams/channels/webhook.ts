import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant } from '../../engine/aggregates/types.ts'
import { DisabledReason, FailingPercent } from '../webhook-subscriptions/events.ts'
import { defineChannelStream, publicData } from '../../engine/aggregates/channel-stream.ts'

const endpoint = { org_id: Id, subscription_id: Id }

/** Stream of the public webhook events (specification 6). No addresses, because they may contain tokens. */
export const webhookChannelStream = defineChannelStream({
  name: 'webhook.events',
  organisationMember: 'org_id',
  events: {
    endpointFailing: defineEvent(
      'webhook.endpoint.failing',
      publicData({ ...endpoint, percent: FailingPercent, failing_since: Instant, disable_at: Instant }),
    ),
    endpointDisabled: defineEvent(
      'webhook.endpoint.disabled',
      publicData({ ...endpoint, reason: DisabledReason, disabled_at: Instant }),
    ),
  },
})

export type WebhookChannelEvent = EventOf<typeof webhookChannelStream.events>

import { defineEvent, type EventOf } from '../store/schema.ts'
import { Id, Instant } from '../types.ts'
import { DisabledReason, FailingPercent } from '../webhook-subscriptions/events.ts'
import { publicData } from './envelope.ts'

/** Stream of the public webhook events (contract section 3, line 474). No addresses: tenants put tokens into theirs. */
export const webhookChannel = 'webhook.events'

const endpoint = { org_id: Id, subscription_id: Id }

export const webhookChannelEvents = {
  endpointFailing: defineEvent(
    'webhook.endpoint.failing',
    publicData({ ...endpoint, percent: FailingPercent, failing_since: Instant, disable_at: Instant }),
  ),
  endpointDisabled: defineEvent(
    'webhook.endpoint.disabled',
    publicData({ ...endpoint, reason: DisabledReason, disabled_at: Instant }),
  ),
} as const

export type WebhookChannelEvent = EventOf<typeof webhookChannelEvents>

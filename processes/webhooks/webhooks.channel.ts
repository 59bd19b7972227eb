import { webhookChannelStream } from '../../streams/channels/webhook.ts'
import { webhookSubscriptions } from '../../streams/webhook-subscriptions/aggregate.ts'
import { defineChannel } from '../../engine/relay/channel.ts'

/** Endpoints that fail, and subscriptions that are disabled for this or on request. */
export const webhookChannel = defineChannel({
  stream: webhookChannelStream,
  sources: [webhookSubscriptions],
  translate: {
    WebhookEndpointFailing: ({ data }, publish) => [
      publish('webhook.endpoint.failing', data.warnedAt, {
        subscription_id: data.subscriptionId,
        percent: data.percent,
        failing_since: data.failingSince,
        disable_at: data.disableAt,
      }),
    ],
    WebhookSubscriptionDisabled: ({ data: { subscriptionId, reason, disabledAt } }, publish) => [
      publish('webhook.endpoint.disabled', disabledAt, {
        subscription_id: subscriptionId,
        reason,
        disabled_at: disabledAt,
      }),
    ],
  },
})

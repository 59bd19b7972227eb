import { webhookChannel } from '../../streams/channels/webhook.ts'
import type { WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import { webhookSubscriptions } from '../../streams/webhook-subscriptions/aggregate.ts'
import type { ChannelDefinition } from '../relay/channel.ts'

type DataOf<Type extends WebhookSubscriptionEvent['type']> = Extract<WebhookSubscriptionEvent, { type: Type }>['data']

/** Endpoints that fail, and subscriptions that are disabled for it or on request (contract, line 474). */
export const webhookEventsChannel: ChannelDefinition<unknown> = {
  stream: webhookChannel,
  sources: [`${webhookSubscriptions.category}-`],
  organisationMember: 'org_id',
  translate: {
    WebhookEndpointFailing: (event) => {
      const { subscriptionId, percent, failingSince, disableAt, warnedAt } =
        event.data as DataOf<'WebhookEndpointFailing'>
      const data = { subscription_id: subscriptionId, percent, failing_since: failingSince, disable_at: disableAt }
      return [{ type: 'webhook.endpoint.failing', occurredAt: warnedAt, data }]
    },
    WebhookSubscriptionDisabled: (event) => {
      const { subscriptionId, reason, disabledAt } = event.data as DataOf<'WebhookSubscriptionDisabled'>
      return [
        {
          type: 'webhook.endpoint.disabled',
          occurredAt: disabledAt,
          data: { subscription_id: subscriptionId, reason, disabled_at: disabledAt },
        },
      ]
    },
  },
}

import type { WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import { defineProjector, insert } from '../runtime/projector.ts'
import { webhookSubscriptions } from './table.ts'

export const webhookSubscriptionsProjector = defineProjector<WebhookSubscriptionEvent>()({
  name: 'webhook_subscriptions',
  version: 1,
  tables: [webhookSubscriptions],
  handlers: {
    WebhookSubscribed: ({ data, revision }) => [
      insert(webhookSubscriptions, {
        subscription_id: data.subscriptionId,
        org_id: data.organisationId,
        url: data.url,
        event_types: data.eventTypes,
        description: data.description,
        payload_mode: data.payloadMode,
        created_at: data.createdAt,
        stream_revision: revision,
      }),
    ],
  },
})

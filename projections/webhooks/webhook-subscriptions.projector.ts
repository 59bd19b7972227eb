import type { PublicKey, WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import {
  defineProjector,
  insert,
  patch,
  patchWhere,
  remove,
  removeWhere,
  type RowChange,
} from '../runtime/projector.ts'
import { webhookKeys, webhookSubscriptions } from './table.ts'

/** `stream_revision` is that of the subscription's own last change, in the stream that all of the organisation share. */
export const webhookSubscriptionsProjector = defineProjector<WebhookSubscriptionEvent>()({
  name: 'webhook_subscriptions',
  version: 2,
  tables: [webhookSubscriptions, webhookKeys],
  handlers: {
    WebhookSubscribed: ({ data, revision }) => [
      insert(webhookSubscriptions, {
        subscription_id: data.subscriptionId,
        org_id: data.organisationId,
        url: data.url,
        event_types: data.eventTypes,
        status: 'active',
        description: data.description,
        payload_mode: data.payloadMode,
        signature_schemes: data.signatureSchemes,
        public_key_id: data.publicKey?.kid,
        public_key: data.publicKey?.x,
        created_at: data.createdAt,
        updated_at: data.createdAt,
        stream_revision: revision,
      }),
      ...newKey(data, data.createdAt),
    ],
    WebhookSubscriptionChanged: ({ data, revision }) => [
      patch(
        webhookSubscriptions,
        { subscription_id: data.subscriptionId },
        {
          url: data.url,
          event_types: data.eventTypes,
          description: data.description,
          payload_mode: data.payloadMode,
          updated_at: data.changedAt,
          stream_revision: revision,
        },
      ),
    ],
    WebhookSubscriptionDisabled: ({ data, revision }) => [
      patch(
        webhookSubscriptions,
        { subscription_id: data.subscriptionId },
        {
          status: 'disabled',
          disabled_reason: data.reason,
          disabled_at: data.disabledAt,
          updated_at: data.disabledAt,
          stream_revision: revision,
        },
      ),
    ],
    WebhookSubscriptionEnabled: ({ data, revision }) => [
      patch(
        webhookSubscriptions,
        { subscription_id: data.subscriptionId },
        {
          status: 'active',
          disabled_reason: null,
          disabled_at: null,
          updated_at: data.enabledAt,
          stream_revision: revision,
        },
      ),
    ],
    WebhookSecretRotated: ({ data, revision }) => [
      patch(
        webhookSubscriptions,
        { subscription_id: data.subscriptionId },
        {
          public_key_id: data.publicKey?.kid ?? null,
          public_key: data.publicKey?.x ?? null,
          updated_at: data.rotatedAt,
          stream_revision: revision,
        },
      ),
      patchWhere(
        webhookKeys,
        { subscription_id: data.subscriptionId, retired_at: null },
        { retired_at: data.previousValidUntil },
      ),
      ...newKey(data, data.rotatedAt),
    ],
    // A warning changes nothing that the record tells.
    WebhookEndpointFailing: () => [],
    WebhookSubscriptionDeleted: ({ data }) => [
      remove(webhookSubscriptions, { subscription_id: data.subscriptionId }),
      removeWhere(webhookKeys, { subscription_id: data.subscriptionId }),
    ],
    // Of a subscription that is shown no more.
    WebhookSecretsDestroyed: () => [],
  },
})

function newKey(
  { subscriptionId, publicKey }: { subscriptionId: string; publicKey: PublicKey | null },
  madeAt: string,
): RowChange[] {
  if (publicKey === null) return []
  return [
    insert(webhookKeys, { subscription_id: subscriptionId, kid: publicKey.kid, x: publicKey.x, created_at: madeAt }),
  ]
}

import { Type } from 'typebox'
import {
  DisabledReason,
  PayloadMode,
  SignatureScheme,
  SubscriptionStatus,
  WebhookEventType,
  type PublicKey,
  type WebhookSubscriptionEvent,
} from '../../streams/webhook-subscriptions/events.ts'
import { defineProjector, defineTable, type RowChange } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, patchRows, removeRow, removeRows } from '../../engine/projections/row-changes.ts'

export const webhookSubscriptionsTable = defineTable({
  name: 'webhook_subscriptions',
  columns: {
    subscription_id: 'uuid',
    org_id: 'uuid',
    url: 'text',
    event_types: { type: 'jsonb', schema: Type.Array(WebhookEventType) },
    status: { type: 'text', values: SubscriptionStatus.enum },
    description: { type: 'text', nullable: true },
    payload_mode: { type: 'text', values: PayloadMode.enum },
    signature_schemes: { type: 'jsonb', schema: Type.Array(SignatureScheme) },
    public_key_id: { type: 'text', nullable: true },
    public_key: { type: 'text', nullable: true },
    disabled_reason: { type: 'text', values: DisabledReason.enum, nullable: true },
    disabled_at: { type: 'timestamptz', nullable: true },
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['subscription_id'],
  indexes: [{ columns: ['org_id', 'created_at', 'subscription_id'] }],
})

/** Public keys of `v1a` signatures, and the instant at which each was replaced. */
export const webhookKeysTable = defineTable({
  name: 'webhook_keys',
  columns: {
    subscription_id: 'uuid',
    kid: 'text',
    x: 'text',
    created_at: 'timestamptz',
    retired_at: { type: 'timestamptz', nullable: true },
  },
  primaryKey: ['subscription_id', 'kid'],
  indexes: [{ columns: ['kid'] }, { columns: ['created_at', 'kid'] }],
})

/** All subscriptions of an organisation are in one stream. `stream_revision` is that of the subscription's own last change. */
export const webhookSubscriptionsProjector = defineProjector<WebhookSubscriptionEvent>()({
  name: 'webhook_subscriptions',
  version: 2,
  tables: [webhookSubscriptionsTable, webhookKeysTable],
  handlers: {
    WebhookSubscribed: ({ data, revision }) => [
      insertRow(webhookSubscriptionsTable, {
        ...data,
        ...keyMembers(data.publicKey),
        orgId: data.organisationId,
        status: 'active',
        updatedAt: data.createdAt,
        streamRevision: revision,
      }),
      ...newKey(data, data.createdAt),
    ],
    WebhookSubscriptionChanged: ({ data, revision }) => [
      patchRow(webhookSubscriptionsTable, { ...data, updatedAt: data.changedAt, streamRevision: revision }),
    ],
    WebhookSubscriptionDisabled: ({ data: { subscriptionId, reason, disabledAt }, revision }) => [
      patchRow(webhookSubscriptionsTable, {
        subscriptionId,
        status: 'disabled',
        disabledReason: reason,
        disabledAt,
        updatedAt: disabledAt,
        streamRevision: revision,
      }),
    ],
    WebhookSubscriptionEnabled: ({ data: { subscriptionId, enabledAt }, revision }) => [
      patchRow(webhookSubscriptionsTable, {
        subscriptionId,
        status: 'active',
        disabledReason: null,
        disabledAt: null,
        updatedAt: enabledAt,
        streamRevision: revision,
      }),
    ],
    WebhookSecretRotated: ({ data, revision }) => [
      patchRow(webhookSubscriptionsTable, {
        ...keyMembers(data.publicKey),
        subscriptionId: data.subscriptionId,
        updatedAt: data.rotatedAt,
        streamRevision: revision,
      }),
      patchRows(
        webhookKeysTable,
        { subscriptionId: data.subscriptionId, retiredAt: null },
        { retiredAt: data.previousValidUntil },
      ),
      ...newKey(data, data.rotatedAt),
    ],
    // The record does not show a warning.
    WebhookEndpointFailing: () => [],
    WebhookSubscriptionDeleted: ({ data: { subscriptionId } }) => [
      removeRow(webhookSubscriptionsTable, { subscriptionId }),
      removeRows(webhookKeysTable, { subscriptionId }),
    ],
    // The row of the subscription was removed before.
    WebhookSecretsDestroyed: () => [],
  },
})

function keyMembers(key: PublicKey | null) {
  // `publicKey` of the event is the pair of key id and key; `publicKey` of the row is the key.
  return { publicKeyId: key?.kid ?? null, publicKey: key?.x ?? null }
}

function newKey(
  { subscriptionId, publicKey }: { subscriptionId: string; publicKey: PublicKey | null },
  createdAt: string,
): RowChange[] {
  return publicKey === null ? [] : [insertRow(webhookKeysTable, { ...publicKey, subscriptionId, createdAt })]
}

import { Type } from 'typebox'
import type { NotificationPreferencesEvent } from '../../streams/notification-preferences/events.ts'
import { RecipientRule, type NotificationSubscriptionEvent } from '../../streams/notification-subscription/events.ts'
import type { SuppressionEvent } from '../../streams/suppression/events.ts'
import { NotificationCategory, NotificationChannel } from '../../streams/types.ts'
import { defineProjector, defineTable, sealed } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow, upsertRow } from '../../engine/projections/row-changes.ts'

/** Rules. `org_id` is null for those of the platform. */
export const notificationSubscriptionsTable = defineTable({
  name: 'notification_subscriptions',
  columns: {
    subscription_id: 'uuid',
    org_id: { type: 'uuid', nullable: true },
    event_type: 'text',
    template_code: 'text',
    recipient_rule: { type: 'jsonb', schema: RecipientRule },
    enabled: 'boolean',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['subscription_id'],
  indexes: [{ columns: ['org_id', 'created_at', 'subscription_id'] }, { columns: ['created_at', 'subscription_id'] }],
})

/** `org_id` is null for suppressions of the platform. */
export const suppressionsTable = defineTable({
  name: 'suppressions',
  columns: {
    suppression_id: 'uuid',
    org_id: { type: 'uuid', nullable: true },
    channel: { type: 'text', values: NotificationChannel.enum },
    address: sealed(Type.String()),
    reason: sealed(Type.String()),
    added_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['suppression_id'],
  indexes: [{ columns: ['org_id', 'added_at', 'suppression_id'] }, { columns: ['added_at', 'suppression_id'] }],
})

/** What users have set. `org_id` is the organisation in which it was last set, and owns nothing. */
export const preferencesTable = defineTable({
  name: 'notification_preferences',
  columns: {
    user_id: 'uuid',
    category: { type: 'text', values: NotificationCategory.enum },
    channel: { type: 'text', values: NotificationChannel.enum },
    org_id: 'uuid',
    opted_out: 'boolean',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['user_id', 'category', 'channel'],
})

/** What decides whether an event or a send becomes a message. */
export const notificationSettingsProjector = defineProjector<
  NotificationSubscriptionEvent | NotificationPreferencesEvent | SuppressionEvent
>()({
  name: 'notification_settings',
  version: 2,
  tables: [notificationSubscriptionsTable, suppressionsTable, preferencesTable],
  handlers: {
    NotificationSubscriptionCreated: ({ data, revision }) => [
      insertRow(notificationSubscriptionsTable, { ...data, updatedAt: data.createdAt, streamRevision: revision }),
    ],
    NotificationSubscriptionChanged: ({ data, revision }) => [
      patchRow(notificationSubscriptionsTable, { ...data, updatedAt: data.changedAt, streamRevision: revision }),
    ],
    NotificationSubscriptionDeleted: ({ data: { subscriptionId } }) => [
      removeRow(notificationSubscriptionsTable, { subscriptionId }),
    ],
    SuppressionAdded: ({ data, revision }) => [insertRow(suppressionsTable, { ...data, streamRevision: revision })],
    SuppressionRemoved: ({ data: { suppressionId } }) => [removeRow(suppressionsTable, { suppressionId })],
    NotificationPreferencesSet: ({ data, revision }) =>
      data.entries.map((entry) =>
        upsertRow(preferencesTable, {
          ...entry,
          userId: data.userId,
          orgId: data.organisationId,
          updatedAt: data.setAt,
          streamRevision: revision,
        }),
      ),
  },
})

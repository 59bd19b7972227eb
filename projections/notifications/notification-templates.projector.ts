import type { NotificationTemplateEvent } from '../../streams/notification-template/events.ts'
import { NotificationCategory, NotificationChannel } from '../../streams/types.ts'
import { defineProjector, defineTable } from '../../engine/projections/projector.ts'
import { insertRow, patchRow } from '../../engine/projections/row-changes.ts'

export const notificationTemplatesTable = defineTable({
  name: 'templates',
  columns: {
    template_id: 'uuid',
    /** Null: the default of every organisation. */
    org_id: { type: 'uuid', nullable: true },
    code: 'text',
    channel: { type: 'text', values: NotificationChannel.enum },
    locale: 'text',
    category: { type: 'text', values: NotificationCategory.enum },
    phi: 'boolean',
    subject: { type: 'text', nullable: true },
    body_template: 'text',
    version: 'integer',
    source: { type: 'text', values: ['seeded', 'custom'] },
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['template_id'],
  indexes: [{ columns: ['code', 'template_id'] }, { columns: ['org_id', 'code', 'template_id'] }],
})

export const notificationTemplatesProjector = defineProjector<NotificationTemplateEvent>()({
  name: 'notification_templates',
  version: 1,
  tables: [notificationTemplatesTable],
  handlers: {
    NotificationTemplateCreated: ({ data, revision }) => [
      insertRow(notificationTemplatesTable, { ...data, updatedAt: data.createdAt, streamRevision: revision }),
    ],
    NotificationTemplateChanged: ({ data, revision }) => [
      patchRow(notificationTemplatesTable, { ...data, updatedAt: data.changedAt, streamRevision: revision }),
    ],
  },
})

import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Count, Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'
import { NotificationCategory, NotificationChannel } from '../types.ts'

const content = {
  /** Each start of the platform restores a seeded one. */
  source: Type.Enum(['seeded', 'custom']),
  category: NotificationCategory,
  /** Messages made from it contain personal health information. */
  phi: Type.Boolean(),
  /** Mails only. */
  subject: Nullable(Type.String()),
  bodyTemplate: Type.String(),
  /** Increases when subject or body change. */
  version: Count,
}

export const notificationTemplateEvents = {
  NotificationTemplateCreated: defineEvent(
    'NotificationTemplateCreated',
    Type.Object({
      templateId: Id,
      /** Null: the default of every organisation. */
      orgId: Nullable(OrgId),
      code: Type.String(),
      channel: NotificationChannel,
      /** BCP 47. */
      locale: Type.String(),
      ...content,
      createdAt: Instant,
    }),
  ),
  /** The whole content after the change. */
  NotificationTemplateChanged: defineEvent(
    'NotificationTemplateChanged',
    Type.Object({ templateId: Id, ...content, changedAt: Instant }),
  ),
} as const

export type NotificationTemplateEvent = EventOf<typeof notificationTemplateEvents>

import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { NotificationCategory, NotificationChannel } from '../../streams/types.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

const variant = {
  id: Uuid,
  code: Type.String(),
  channel: NotificationChannel,
  locale: Type.String(),
  version: Type.Integer({ minimum: 1 }),
  source: Type.Enum(['seeded', 'custom']),
  orgId: Nullable(Uuid, { description: 'Null: the default of every organisation' }),
  updatedAt: Instant,
}

/** Specification 2.7. */
export const NotificationTemplateRecord = Type.Object(
  {
    ...variant,
    category: NotificationCategory,
    phi: Type.Boolean(),
    subject: Nullable(Type.String()),
    bodyTemplate: Type.String(),
    createdAt: Instant,
  },
  { $id: 'NotificationTemplateRecord' },
)
export type NotificationTemplateRecord = Static<typeof NotificationTemplateRecord>

/** The answer to a change. */
export const SavedNotificationTemplate = Type.Object(
  { ...NotificationTemplateRecord.properties, warnings: Type.Array(Type.String()) },
  { $id: 'SavedNotificationTemplate' },
)

/** A template, and the others of its code. */
export const NotificationTemplateDetails = Type.Object(
  {
    ...NotificationTemplateRecord.properties,
    variants: Type.Array(Type.Object(variant), { description: 'The other templates of the code that the caller sees' }),
  },
  { $id: 'NotificationTemplateDetails' },
)

export type TemplateValues = Omit<ValuesOf<typeof NotificationTemplateRecord>, 'id'> & { readonly templateId: string }

export function toTemplateRecord(template: TemplateValues): NotificationTemplateRecord {
  return toRecord(NotificationTemplateRecord, { ...template, id: template.templateId })
}

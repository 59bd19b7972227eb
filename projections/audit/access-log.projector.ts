import { Type, type Static } from 'typebox'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import {
  defineProjector,
  defineTable,
  insertSelect,
  sealed,
  type RowChange,
} from '../../engine/projections/projector.ts'
import { insertRow, patchRows, removeRow, removeRows } from '../../engine/projections/row-changes.ts'
import * as log from '../../streams/access-log/events.ts'
import type { AccessMonthEvent } from '../../streams/access-month/events.ts'
import { patientOf } from '../../streams/notification/aggregate.ts'
import type { NotificationEvent } from '../../streams/notification/events.ts'
import { PersonalCategory } from '../../streams/types.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'

/** Who saw what. Deliveries to webhooks and recipients have no client. */
export const accessesTable = defineTable({
  name: 'accesses',
  columns: {
    access_id: 'uuid',
    org_id: 'uuid',
    at: 'timestamptz',
    /** `yyyy-mm` of the instant. The rows of a month are removed together. */
    month: 'text',
    client_id: { type: 'text', nullable: true },
    user_id: { type: 'text', nullable: true },
    patient_ids: { type: 'jsonb', schema: Type.Array(Type.String()) },
    subject_user_id: { type: 'uuid', nullable: true },
    categories: { type: 'jsonb', schema: Type.Array(PersonalCategory) },
    operation: 'text',
    purpose: { type: 'text', values: log.PurposeOfUse.enum, nullable: true },
    request_id: { type: 'text', nullable: true },
    source_address: sealed(Type.String()),
    /** The user who got a mail, and the HMAC by which the list of an actor finds the mail. */
    recipient_ref: sealed(Type.String()),
    recipient_key: { type: 'text', nullable: true },
    count: 'integer',
  },
  primaryKey: ['access_id'],
  indexes: [
    { columns: ['org_id', 'client_id', 'at', 'access_id'] },
    { columns: ['org_id', 'user_id', 'at', 'access_id'] },
    { columns: ['org_id', 'recipient_key', 'at', 'access_id'] },
    { columns: ['month'] },
  ],
})

/** The persons of each access: patients, and users whose contact was shown. */
export const accessPersonsTable = defineTable({
  name: 'access_persons',
  columns: { org_id: 'uuid', person_id: 'uuid', at: 'timestamptz', access_id: 'uuid', month: 'text' },
  primaryKey: ['org_id', 'person_id', 'at', 'access_id'],
  indexes: [{ columns: ['month'] }],
})

/** Mails about a patient that are not sent yet. */
export const mailsTable = defineTable({
  name: 'mails',
  columns: {
    notification_id: 'uuid',
    org_id: 'uuid',
    patient_id: 'uuid',
    patient_ids: 'jsonb',
    recipient_ref: sealed(Type.String()),
    recipient_key: { type: 'text', nullable: true },
  },
  primaryKey: ['notification_id'],
})

type Events = log.AccessLogEvent | AccessMonthEvent | NotificationEvent | WebhookDeliveryEvent

export const accessLogProjector = defineProjector<Events>()({
  name: 'access_log',
  version: 2,
  isPatient: true,
  tables: [accessesTable, accessPersonsTable, mailsTable],
  handlers: {
    AccessRecorded: ({ data }) => {
      const { organisationId: orgId, accessId, at, patientIds, subjectUserId } = data
      const persons = subjectUserId === null ? patientIds : [...patientIds, subjectUserId]
      return [
        insertRow(accessesTable, { ...data, orgId, month: monthOf(at), count: 1 }),
        ...[...new Set(persons)].map((personId) =>
          insertRow(accessPersonsTable, { orgId, personId, at, accessId, month: monthOf(at) }),
        ),
      ]
    },
    // The access itself may be past the retention.
    AccessRepeated: ({ data: { accessId, count } }) => [patchRows(accessesTable, { accessId }, { count })],
    AccessMonthEnded: ({ data: { month } }) => [
      removeRows(accessesTable, { month }),
      removeRows(accessPersonsTable, { month }),
    ],
    WebhookDeliveryAttempted: ({ id, data, stream }) => {
      const { deliveryId, shown, attemptedAt: at } = data
      if (shown === null) return []
      const { orgId } = parseOwnedStream(stream)
      const { patientId, categories } = shown
      return [
        insertRow(accessesTable, {
          accessId: id,
          orgId,
          at,
          month: monthOf(at),
          patientIds: [patientId],
          categories,
          operation: 'webhook',
          requestId: deliveryId,
          count: 1,
        }),
        insertRow(accessPersonsTable, { orgId, personId: patientId, at, accessId: id, month: monthOf(at) }),
      ]
    },
    NotificationCreated: ({ data }) => {
      const patientId = patientOf(data)
      if (patientId === null || data.channel !== 'email') return []
      const { notificationId, organisationId: orgId, recipientType, recipientRef, recipientKey } = data
      const user = recipientType === 'user' ? { recipientRef, recipientKey } : {}
      return [insertRow(mailsTable, { notificationId, orgId, patientId, patientIds: [patientId], ...user })]
    },
    NotificationSent: ({ id, data: { notificationId, sentAt } }) => mailSent(id, notificationId, sentAt),
  },
})

const mailed: readonly Static<typeof PersonalCategory>[] = ['notifications']

/** Writes nothing for a mail about nobody, and for other channels: messages about patients are mails. */
function mailSent(accessId: string, notificationId: string, at: string): RowChange[] {
  const own = { access_id: { value: accessId }, org_id: { column: 'org_id' }, at: { value: at } }
  const month = { value: monthOf(at) }
  return [
    insertSelect(accessesTable, {
      from: mailsTable,
      where: { notification_id: notificationId },
      columns: {
        ...own,
        month,
        client_id: undefined,
        user_id: undefined,
        patient_ids: { column: 'patient_ids' },
        subject_user_id: undefined,
        categories: { value: mailed },
        operation: { value: 'email' },
        purpose: undefined,
        request_id: { value: notificationId },
        source_address: undefined,
        recipient_ref: { column: 'recipient_ref' },
        recipient_key: { column: 'recipient_key' },
        count: { value: 1 },
      },
    }),
    insertSelect(accessPersonsTable, {
      from: mailsTable,
      where: { notification_id: notificationId },
      columns: { ...own, person_id: { column: 'patient_id' }, month },
    }),
    removeRow(mailsTable, { notificationId }),
  ]
}

function monthOf(instant: string): string {
  return instant.slice(0, 7)
}

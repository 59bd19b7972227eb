import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import {
  CallMetadata,
  DiscardReason,
  NotificationErrorCode,
  NotificationStatus,
  RecipientType,
  SuppressionReason,
} from '../../streams/notification/events.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import { NotificationCategory, NotificationChannel } from '../../streams/types.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

const nullableText = Nullable(Type.String())
const maskedAddress = Nullable(
  Type.String({ description: 'An e-mail address shows its first character and its domain. Null after an erasure' }),
)

const ownOrganisation = Type.Optional(
  Type.String({ format: 'uuid', description: 'Absent if the event of a rule of the platform named no organisation' }),
)

/** The nil UUID stands for no organisation inside the platform only. */
function withoutNil<Values extends { readonly orgId: string }>({ orgId, ...values }: Values) {
  return { ...values, ...(orgId === noOrganisation ? {} : { orgId }) }
}

const members = {
  id: Uuid,
  templateCode: Type.String(),
  templateVersion: Nullable(Type.Integer({ description: 'Null until a template was found' })),
  channel: NotificationChannel,
  locale: Type.String(),
  recipientType: RecipientType,
  recipientRef: maskedAddress,
  resolvedAddress: maskedAddress,
  orgId: ownOrganisation,
  category: Nullable(NotificationCategory),
  phi: Type.Boolean(),
  status: NotificationStatus,
  attempts: Type.Integer(),
  nextAttemptAt: Nullable(Instant),
  providerMessageId: nullableText,
  errorCode: Nullable(NotificationErrorCode),
  errorDetail: nullableText,
  suppressionReason: Nullable(SuppressionReason),
  correlationId: nullableText,
  triggerSource: Type.String({ description: '`event:` and the id of the event, or `api:` and the client id' }),
  createdAt: Instant,
  sentAt: Nullable(Instant),
  updatedAt: Instant,
}

/** Specification 4.6: without the variables, with masked addresses. */
export const NotificationRecord = Type.Object(members, { $id: 'NotificationRecord', ...personal('notifications') })
export type NotificationRecord = Static<typeof NotificationRecord>

const DeliveryAttempt = Type.Object({
  id: Uuid,
  notificationId: Uuid,
  attemptNumber: Type.Integer(),
  providerName: Type.String({
    description: 'The provider, or the part that ended the attempt, such as `user-management` or `suppressions`',
  }),
  request: CallMetadata,
  response: Nullable(CallMetadata),
  success: Type.Boolean(),
  errorCode: Nullable(NotificationErrorCode),
  latencyMs: Type.Integer(),
  createdAt: Instant,
})

/** Each request to send a notification again adds a round of attempts, so the record has the newest only. */
export const attemptsOfRecord = 100

/** Contract-2, C20. */
export const NotificationWithAttempts = Type.Object(
  {
    ...members,
    deliveryAttempts: Type.Array(DeliveryAttempt, { description: `The newest ${attemptsOfRecord}, in order` }),
  },
  { $id: 'NotificationWithAttempts', ...personal('notifications') },
)
export type NotificationWithAttempts = Static<typeof NotificationWithAttempts>

export const NotificationAccepted = Type.Object(
  { id: Uuid, status: NotificationStatus },
  { $id: 'NotificationAccepted' },
)

/** An entry of the list of failed notifications. */
export const NotificationFailure = Type.Object(
  {
    notificationId: Uuid,
    templateCode: Type.String(),
    channel: NotificationChannel,
    orgId: ownOrganisation,
    errorCode: NotificationErrorCode,
    attempts: Type.Integer(),
    failedAt: Instant,
    correlationId: nullableText,
  },
  { $id: 'NotificationFailure' },
)
export type NotificationFailure = Static<typeof NotificationFailure>

const MatchedRule = Type.Object({
  subscriptionId: Uuid,
  notificationId: Nullable(Uuid, { description: 'Null if the event made no notification for the rule' }),
  discardReason: Nullable(DiscardReason),
})

/** An event that rules matched (specification 2.7). */
export const EventInboxEntry = Type.Object(
  {
    eventId: Uuid,
    eventType: Type.String(),
    receivedAt: Instant,
    processedAt: Type.String({ format: 'date-time', description: 'When the last rule until now was processed' }),
    notificationIds: Type.Array(Uuid),
    rules: Type.Array(MatchedRule, { description: 'Each rule that the event met' }),
  },
  { $id: 'EventInboxEntry' },
)
export type EventInboxEntry = Static<typeof EventInboxEntry>

type Stored<Values> = Omit<Values, 'id' | 'orgId'> & { readonly notificationId: string; readonly orgId: string }
export type NotificationValues = Stored<ValuesOf<typeof NotificationRecord>>

export function toNotificationRecord(notification: NotificationValues): NotificationRecord {
  return toRecord(NotificationRecord, { ...withoutNil(notification), id: notification.notificationId })
}

export type AttemptValues = Omit<ValuesOf<typeof DeliveryAttempt>, 'id'> & { readonly attemptId: string }

export function toNotificationWithAttempts(
  notification: NotificationValues & { readonly attemptsMade: readonly AttemptValues[] },
): NotificationWithAttempts {
  const deliveryAttempts = notification.attemptsMade.map((attempt) =>
    toRecord(DeliveryAttempt, { ...attempt, id: attempt.attemptId }),
  )
  const id = notification.notificationId
  return toRecord(NotificationWithAttempts, { ...withoutNil(notification), id, deliveryAttempts })
}

export function toNotificationFailure(failure: Stored<ValuesOf<typeof NotificationFailure>>): NotificationFailure {
  return toRecord(NotificationFailure, withoutNil(failure))
}

export type MatchedRuleValues = Omit<ValuesOf<typeof MatchedRule>, 'notificationId'> & {
  readonly notificationId: string
}
type InboxValues = Omit<ValuesOf<typeof EventInboxEntry>, 'notificationIds' | 'rules'> & {
  readonly matched: readonly MatchedRuleValues[]
}

/** A discarded notification has an id of its own, but no record. */
export function toEventInboxEntry({ matched, ...entry }: InboxValues): EventInboxEntry {
  const rules = matched.map((rule) => ({
    ...rule,
    notificationId: rule.discardReason === null ? rule.notificationId : null,
  }))
  const notificationIds = rules.flatMap(({ notificationId }) => notificationId ?? [])
  return toRecord(EventInboxEntry, { ...entry, rules, notificationIds })
}

import { Type, type Static } from 'typebox'
import { ChangedBy } from '../organisation-roles/events.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Fingerprint, Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'

/** Finds a user in the payload of an event: the value at the path is a user id, or the id of a clinical patient. */
function personRule<const Name extends 'user' | 'patient'>(type: Name) {
  return Type.Object({ type: Type.Literal(type), path: Type.String() })
}

/** The kinds of recipients that a rule can name. */
export const recipientRuleTypes = ['user', 'patient', 'slackChannel'] as const

/** How the recipient follows from the event. A path has at most eight names with dots between them. */
export const RecipientRule = Type.Union([
  personRule('user'),
  personRule('patient'),
  Type.Object({ type: Type.Literal('slackChannel'), channel: Type.String() }),
])
export type RecipientRule = Static<typeof RecipientRule>

const rule = {
  subscriptionId: Id,
  /** Null: the rule applies to the events of every organisation. */
  orgId: Nullable(OrgId),
  eventType: Type.String(),
  templateCode: Type.String(),
  recipientRule: RecipientRule,
  enabled: Type.Boolean(),
}

export const notificationSubscriptionEvents = {
  NotificationSubscriptionCreated: defineEvent(
    'NotificationSubscriptionCreated',
    Type.Object({ ...rule, createdAt: Instant, changedBy: ChangedBy, fingerprint: Fingerprint }),
  ),
  /** The whole rule after the change. */
  NotificationSubscriptionChanged: defineEvent(
    'NotificationSubscriptionChanged',
    Type.Object({ ...rule, changedAt: Instant, changedBy: ChangedBy }),
  ),
  /** The rule that ends. */
  NotificationSubscriptionDeleted: defineEvent(
    'NotificationSubscriptionDeleted',
    Type.Object({ ...rule, deletedAt: Instant, changedBy: ChangedBy }),
  ),
} as const

export type NotificationSubscriptionEvent = EventOf<typeof notificationSubscriptionEvents>

import { Type, type Static } from 'typebox'
import type { Caller } from '../../platform/http/access.ts'
import { variantsAlone } from '../../platform/http/documented.ts'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { problem } from '../../platform/http/problems.ts'
import { recipientRuleTypes, type RecipientRule } from '../../streams/notification-subscription/events.ts'
import { NotificationCategory, NotificationChannel } from '../../streams/types.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

/** Names with dots between them, at most eight. A name is a member of the payload, or of an object in it. */
export const payloadPathPattern = '^[A-Za-z0-9_-]{1,64}(\\.[A-Za-z0-9_-]{1,64}){0,7}$'
/** The id of a Slack channel, or its name. */
export const chatChannelPattern = '^#?[A-Za-z0-9._-]{1,80}$'

/** The form in which chat channels are compared: their names have no case, and `#` is not part of them. */
export function comparedChannel(channel: string): string {
  return channel.trim().replace(/^#/, '').toLowerCase()
}

const path = Type.String({
  pattern: payloadPathPattern,
  description:
    'Of a user or patient rule: dotted path to the id in the payload of the event, at most eight names. `patient` finds the active member with this clinical patient id.',
})
const channel = Type.String({ pattern: chatChannelPattern, description: 'Of a slackChannel rule: the channel' })
const closed = { additionalProperties: false } as const

/** How the recipient follows from an event. */
export const RecipientRuleRecord = Type.Object(
  {
    type: Type.Enum([...recipientRuleTypes]),
    path: Type.Optional(path),
    channel: Type.Optional(channel),
  },
  {
    $id: 'RecipientRule',
    ...closed,
    documented: variantsAlone(
      {
        UserRecipientRule: Type.Object({ type: Type.Enum(['user', 'patient']), path }, closed),
        ChannelRecipientRule: Type.Object({ type: Type.Enum(['slackChannel']), channel }, closed),
      },
      'type',
    ),
  },
)

const orgId = Nullable(Uuid, { description: 'Null: of the platform, for every organisation' })

export const NotificationSubscriptionRecord = Type.Object(
  {
    id: Uuid,
    orgId,
    eventType: Type.String(),
    templateCode: Type.String(),
    recipientRule: RecipientRuleRecord,
    enabled: Type.Boolean(),
    createdAt: Instant,
    updatedAt: Instant,
  },
  { $id: 'NotificationSubscriptionRecord' },
)
export type NotificationSubscriptionRecord = Static<typeof NotificationSubscriptionRecord>

type SubscriptionValues = Omit<ValuesOf<typeof NotificationSubscriptionRecord>, 'id' | 'recipientRule'> & {
  readonly subscriptionId: string
  readonly recipientRule: RecipientRule
}

export function toSubscriptionRecord(subscription: SubscriptionValues): NotificationSubscriptionRecord {
  return toRecord(NotificationSubscriptionRecord, { ...subscription, id: subscription.subscriptionId })
}

/** Address and reason are null only after their key was destroyed. */
export const SuppressionRecord = Type.Object(
  {
    id: Uuid,
    orgId,
    channel: NotificationChannel,
    address: Nullable(Type.String()),
    reason: Nullable(Type.String()),
    createdAt: Instant,
  },
  { $id: 'SuppressionRecord' },
)
export type SuppressionRecord = Static<typeof SuppressionRecord>

type SuppressionValues = Omit<ValuesOf<typeof SuppressionRecord>, 'id' | 'createdAt'> & {
  readonly suppressionId: string
  readonly addedAt: string
}

export function toSuppressionRecord(suppression: SuppressionValues): SuppressionRecord {
  return toRecord(SuppressionRecord, {
    ...suppression,
    id: suppression.suppressionId,
    createdAt: suppression.addedAt,
  })
}

const NotificationPreferenceRecord = Type.Object(
  {
    userId: Uuid,
    orgId: Nullable(Uuid, {
      description: 'Organisation in which it was last set; null if it was never set, or set in another organisation',
    }),
    category: NotificationCategory,
    channel: NotificationChannel,
    optedOut: Type.Boolean(),
    effective: Type.Boolean({ description: 'The opt-out holds messages back. Never for `transactional`' }),
    updatedAt: Nullable(Instant),
  },
  { $id: 'NotificationPreference' },
)

export const NotificationPreferencesRecord = Type.Object(
  {
    data: Type.Array(NotificationPreferenceRecord, { description: 'Every category with every channel' }),
  },
  { $id: 'NotificationPreferences' },
)
export type NotificationPreferencesRecord = Static<typeof NotificationPreferencesRecord>

export type SetPreference = Pick<Static<typeof NotificationPreferenceRecord>, 'category' | 'channel' | 'optedOut'> & {
  readonly orgId: string
  readonly updatedAt: string
}

/** Whether an opt-out of this category holds messages back. */
export function isOptOutEffective(category: NotificationCategory): boolean {
  return category !== 'transactional'
}

/**
 * All preferences of a user, for a caller of one organisation. They do not show that the user belongs to another one.
 */
export function toPreferencesRecord(
  userId: string,
  tenant: string,
  set: readonly SetPreference[],
): NotificationPreferencesRecord {
  const data = NotificationCategory.enum.flatMap((category) =>
    NotificationChannel.enum.map((channel) => {
      const own = set.find((one) => one.category === category && one.channel === channel)
      return toRecord(NotificationPreferenceRecord, {
        userId,
        orgId: own?.orgId === tenant ? tenant : null,
        category,
        channel,
        optedOut: own?.optedOut ?? false,
        effective: own?.optedOut === true && isOptOutEffective(category),
        updatedAt: own?.updatedAt ?? null,
      })
    }),
  )
  return { data }
}

const permission = 'notifications:admin'

/**
 * The user itself, or an administrator of notifications by scope or permission.
 * @throws Problem `permission-missing`
 */
export function requireOwnOrAdministrator({ actor, scopes }: Caller, userId: string): void {
  const isOwn = actor?.userId.toLowerCase() === userId
  if (isOwn || scopes.has(permission) || actor?.permissions.has(permission) === true) return
  throw problem('permission-missing', { extensions: { required_permission: permission } })
}

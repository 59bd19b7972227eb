import { Type, type Static } from 'typebox'
import { chatChannelPattern, RecipientRuleRecord } from '../../contracts/notifications/settings.ts'
import { Nullable, Text, Uuid } from '../../platform/http/members.ts'
import { invalidMember } from '../../platform/http/problems.ts'
import type { RecipientRule } from '../../streams/notification-subscription/events.ts'
import { NotificationCategory, NotificationChannel } from '../../streams/types.ts'
import { emailPattern } from '../users/bodies.ts'

const orgId = Type.Optional(
  Nullable(Uuid, { description: 'For platform clients, who must name it in a POST. Null: the platform' }),
)
const TemplateCode = Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,99}$' })

export const CreateSubscriptionBody = Type.Object(
  {
    eventType: Type.String({
      maxLength: 255,
      pattern: '^[A-Za-z][A-Za-z0-9_-]*(\\.[A-Za-z0-9_-]+)+$',
      description: 'Name of an event with dots, like `assessment.completed`',
    }),
    templateCode: TemplateCode,
    recipientRule: RecipientRuleRecord,
    orgId,
    enabled: Type.Optional(Type.Boolean({ default: true })),
  },
  { $id: 'CreateNotificationSubscriptionBody', additionalProperties: false },
)

export const ChangeSubscriptionBody = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean()),
    templateCode: Type.Optional(TemplateCode),
    recipientRule: Type.Optional(RecipientRuleRecord),
    orgId,
  },
  { $id: 'ChangeNotificationSubscriptionBody', additionalProperties: false },
)

export const AddSuppressionBody = Type.Object(
  {
    channel: NotificationChannel,
    address: Type.String({ minLength: 1, maxLength: 254, description: 'An e-mail address, or a chat channel' }),
    reason: Text(255),
    orgId,
  },
  { $id: 'AddSuppressionBody', additionalProperties: false },
)

export const SetPreferencesBody = Type.Array(
  Type.Object(
    { category: NotificationCategory, channel: NotificationChannel, optedOut: Type.Boolean() },
    { additionalProperties: false },
  ),
  { $id: 'SetNotificationPreferencesBody', maxItems: 50 },
)

/** @throws Problem `validation-failed` unless the rule has exactly the member of its type */
export function recipientRuleOf({ type, path, channel }: Static<typeof RecipientRuleRecord>): RecipientRule {
  if (type === 'slackChannel') return { type, channel: onlyOne(channel, path, 'channel', 'path', type) }
  return { type, path: onlyOne(path, channel, 'path', 'channel', type) }
}

function onlyOne(value: string | undefined, other: string | undefined, name: string, otherName: string, type: string) {
  if (other !== undefined)
    throw invalidMember(`/recipientRule/${otherName}`, `must not be in a rule of type ${type}`, 'recipient-rule')
  if (value === undefined)
    throw invalidMember(`/recipientRule/${name}`, `must be in a rule of type ${type}`, 'required')
  return value
}

const addressPatterns = {
  email: { pattern: new RegExp(emailPattern), detail: 'must be an e-mail address with one @ and no spaces' },
  slack: { pattern: new RegExp(chatChannelPattern), detail: 'must be the id or the name of a channel' },
} as const

/** @throws Problem `validation-failed` unless the address is one of the channel */
export function addressOf({
  channel,
  address,
}: Pick<Static<typeof AddSuppressionBody>, 'channel' | 'address'>): string {
  const { pattern, detail } = addressPatterns[channel]
  const trimmed = address.trim()
  if (!pattern.test(trimmed)) throw invalidMember('/address', detail, 'pattern')
  return trimmed
}

/** @throws Problem `validation-failed` for a category and channel that occur twice */
export function requireDistinct(entries: Static<typeof SetPreferencesBody>): void {
  const seen = new Set<string>()
  for (const [index, { category, channel }] of entries.entries()) {
    const key = `${category}.${channel}`
    if (seen.has(key)) throw invalidMember(`/${index}`, 'must not repeat a category and channel', 'uniqueItems')
    seen.add(key)
  }
}

import { Type, type Static } from 'typebox'
import { chatChannelPattern, RecipientRuleRecord } from '../../contracts/notifications/settings.ts'
import { variantsAlone } from '../../platform/http/documented.ts'
import { Nullable, Text, Uuid } from '../../platform/http/members.ts'
import { invalidMember } from '../../platform/http/problems.ts'
import { mailAddressPattern, mostAddressCharacters, readMailAddress } from '../../platform/kit/mail-address.ts'
import type { RecipientRule } from '../../streams/notification-subscription/events.ts'
import { NotificationCategory, NotificationChannel } from '../../streams/types.ts'

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

const suppression = { reason: Text(255), orgId }
const closed = { additionalProperties: false } as const
const mailAddress = Type.String({ maxLength: mostAddressCharacters, pattern: mailAddressPattern })
const chatAddress = Type.String({ pattern: chatChannelPattern })

export const AddSuppressionBody = Type.Object(
  {
    channel: NotificationChannel,
    address: Type.String({ minLength: 1, maxLength: 254, description: 'An e-mail address, or a chat channel' }),
    ...suppression,
  },
  {
    $id: 'AddSuppressionBody',
    ...closed,
    documented: variantsAlone(
      {
        MailSuppression: Type.Object({ channel: Type.Enum(['email']), address: mailAddress, ...suppression }, closed),
        ChatSuppression: Type.Object({ channel: Type.Enum(['slack']), address: chatAddress, ...suppression }, closed),
      },
      'channel',
    ),
  },
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

const chatChannel = new RegExp(chatChannelPattern)

/** @throws Problem `validation-failed` unless the address is one of the channel */
export function addressOf({
  channel,
  address,
}: Pick<Static<typeof AddSuppressionBody>, 'channel' | 'address'>): string {
  const trimmed = address.trim()
  const [read, detail] =
    channel === 'email'
      ? [readMailAddress(trimmed), 'must be an address to which mails are sent']
      : [chatChannel.test(trimmed) ? trimmed : undefined, 'must be the id or the name of a channel']
  if (read === undefined) throw invalidMember('/address', detail, 'pattern')
  return read
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

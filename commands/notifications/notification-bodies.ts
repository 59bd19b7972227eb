import { Type, type Static, type TSchema } from 'typebox'
import { chatChannelPattern } from '../../contracts/notifications/settings.ts'
import { variantsAlone } from '../../platform/http/documented.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { Uuid } from '../../platform/http/members.ts'
import { invalidMember, requireValid } from '../../platform/http/problems.ts'
import { mailAddressPattern, readMailAddress } from '../../platform/kit/mail-address.ts'
import { NotificationErrorCode, RecipientType } from '../../streams/notification/events.ts'
import { mostRequeued } from '../../streams/notification-queue-request/events.ts'

function recipientVariant(type: RecipientType, ref: TSchema) {
  return Type.Object({ type: Type.Enum([type]), ref }, { additionalProperties: false })
}

const Recipient = Type.Object(
  {
    type: RecipientType,
    ref: Type.String({ minLength: 1, maxLength: 254, description: 'A user id, a chat channel or an e-mail address' }),
  },
  {
    additionalProperties: false,
    documented: variantsAlone(
      {
        UserRecipient: recipientVariant('user', Uuid),
        ChannelRecipient: recipientVariant('slackChannel', Type.String({ pattern: chatChannelPattern })),
        MailRecipient: recipientVariant('email', Type.String({ maxLength: 254, pattern: mailAddressPattern })),
      },
      'type',
    ),
  },
)

export const SendNotificationBody = Type.Object(
  {
    templateCode: Type.String({ minLength: 1, maxLength: 100 }),
    recipient: Recipient,
    variables: Type.Record(Type.String(), Type.Unknown(), { description: 'At most 64 KiB' }),
    correlationId: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9._:-]{1,128}$',
        description: 'Published with events, so without personal data',
      }),
    ),
    patientId: Type.Optional(
      Type.String({ format: 'uuid', description: 'The patient whom the variables concern: erased with this patient' }),
    ),
    organisationId: Type.Optional(Uuid),
  },
  { $id: 'SendNotificationBody', additionalProperties: false },
)
export type SendNotificationBody = Static<typeof SendNotificationBody>

export const RetryFailedBody = Type.Object(
  {
    errorCode: NotificationErrorCode,
    since: Type.String({ format: 'date-time', description: 'Failures from this instant on' }),
    organisationId: Type.Optional(Uuid),
  },
  { $id: 'RetryFailedNotificationsBody', additionalProperties: false },
)

export const RetryFailedReply = Type.Object(
  {
    retried: Type.Integer({ description: `At most ${mostRequeued}` }),
    hasMore: Type.Boolean({ description: 'Send another request for the rest' }),
  },
  { $id: 'RetryFailedNotificationsReply' },
)

export const ReEnqueueStuckBody = Type.Object(
  {
    olderThanSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 31_536_000, default: 300 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: mostRequeued, default: 500 })),
    dryRun: Type.Optional(Type.Boolean({ default: false })),
    organisationId: Type.Optional(Uuid),
  },
  { $id: 'ReEnqueueStuckNotificationsBody', additionalProperties: false },
)

export const ReEnqueueStuckReply = Type.Object(
  {
    requeued: Type.Integer(),
    ids: Type.Array(Uuid),
    skipped: Type.Integer({ description: 'Beyond `limit`, or changed meanwhile' }),
  },
  { $id: 'ReEnqueueStuckNotificationsReply' },
)

const chatChannel = new RegExp(chatChannelPattern)

const forms = {
  user: { read: (ref: string) => (isUuid(ref) ? ref.toLowerCase() : undefined), detail: 'must be the id of a user' },
  slackChannel: {
    read: (ref: string) => (chatChannel.test(ref) ? ref : undefined),
    detail: 'must be the id or the name of a channel',
  },
  email: { read: readMailAddress, detail: 'must be an address to which mails are sent, such as local@example.org' },
} as const

/** @throws Problem `validation-failed` unless the reference has the form of its type. The problem never repeats it */
export function recipientOf({ type, ref }: SendNotificationBody['recipient']) {
  const { read, detail } = forms[type]
  const recipientRef = read(ref)
  if (recipientRef === undefined) throw invalidMember('/recipient/ref', detail, 'recipient-ref')
  return {
    recipientType: type,
    recipientRef,
    channel: type === 'slackChannel' ? ('slack' as const) : ('email' as const),
  }
}

const variablesBytes = 64 * 1024

/** The JSON text of the variables. */
export function variablesText(variables: SendNotificationBody['variables']): string {
  const text = JSON.stringify(variables)
  const isTooLarge = Buffer.byteLength(text) > variablesBytes
  requireValid(isTooLarge ? [{ pointer: '/variables', detail: 'must not exceed 64 KiB', code: 'too-large' }] : [])
  return text
}

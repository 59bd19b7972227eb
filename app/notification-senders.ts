import type { Configuration } from '../platform/configuration/configuration.ts'
import { ConfigurationError } from '../platform/configuration/profile-rules.ts'
import type { Egress } from '../platform/outbound/egress.ts'
import { createChatSender } from '../processes/adapters/chat-sender.ts'
import { createMailSender } from '../processes/adapters/mail-sender.ts'
import type { NotificationSender, OutgoingChat, OutgoingMail } from '../processes/adapters/notification-sender.ts'

export interface NotificationSenders {
  readonly mails: NotificationSender<OutgoingMail>
  readonly chats: NotificationSender<OutgoingChat>
}

/**
 * In production mails must leave the machine. Chat may be missing: its messages then fail with a reason.
 * @throws ConfigurationError
 */
export function requireMailServer({ profile, mailTransport, smtpUrl }: Configuration): void {
  if (profile === 'production' && mailTransport === 'smtp' && smtpUrl === undefined)
    throw new ConfigurationError(
      'SMTP_URL and SMTP_FROM, or MAIL_TRANSPORT=ses, must be set when APP_ENV is production: the embedded mail box delivers nothing',
    )
}

/** Connects to nothing yet: a provider that is away does not hold up the start. */
export function createNotificationSenders(
  configuration: Configuration,
  egress: Egress,
  now: () => Date,
): NotificationSenders {
  return { mails: createMailSender(egress, configuration), chats: createChatSender(egress, configuration, now) }
}

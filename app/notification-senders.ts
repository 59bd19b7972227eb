import type { Configuration } from '../platform/configuration/configuration.ts'
import type { Egress } from '../platform/outbound/egress.ts'
import { createChatSender } from '../processes/adapters/chat-sender.ts'
import { createMailSender } from '../processes/adapters/mail-sender.ts'
import type { NotificationSender, OutgoingChat, OutgoingMail } from '../processes/adapters/notification-sender.ts'

export interface NotificationSenders {
  readonly mails: NotificationSender<OutgoingMail>
  readonly chats: NotificationSender<OutgoingChat>
}

/** Connects to nothing yet: a provider that is away does not hold up the start. */
export function createNotificationSenders(
  configuration: Configuration,
  egress: Egress,
  now: () => Date,
): NotificationSenders {
  return { mails: createMailSender(egress, configuration), chats: createChatSender(egress, configuration, now) }
}

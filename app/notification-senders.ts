import type { Configuration } from '../platform/configuration/configuration.ts'
import { ConfigurationError } from '../platform/configuration/profile-rules.ts'
import type { HealthCheck } from '../platform/observability/health.ts'
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

/** Milliseconds for which an answer counts, and the longest wait for one. */
const keptMs = 10_000
const longestCheckMs = 1_500

/**
 * Without a provider no notification is sent, but every other request is served. So these checks gate the readiness of
 * the service of notifications, and no other.
 */
export function reachabilityChecks({ mails, chats }: NotificationSenders, now: () => Date): HealthCheck[] {
  return [
    { name: 'mail_provider', sender: mails },
    { name: 'chat_provider', sender: chats },
  ].map(({ name, sender }) => {
    let kept: { readonly untilMs: number; readonly isReachable: Promise<boolean> } | undefined
    return {
      name,
      gatesReadiness: 'of-its-services',
      services: ['notifications'],
      async run() {
        if (kept === undefined || kept.untilMs <= now().getTime()) {
          const isReachable = sender.isReachable(AbortSignal.timeout(longestCheckMs))
          kept = { untilMs: now().getTime() + keptMs, isReachable }
        }
        if (await kept.isReachable) return { status: 'ok' }
        return { status: 'failing', detail: 'the provider does not answer, or refuses our credentials' }
      },
    }
  })
}

import type { SendMailOptions } from 'nodemailer'
import { encodeWord } from 'nodemailer/lib/mime-funcs'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { readSmtpAddress } from '../../platform/configuration/smtp-address.ts'
import {
  domainOf,
  hasControlCharacter,
  isMailAddress,
  readSenderAddress,
  type MailSenderAddress,
} from '../../platform/kit/mail-address.ts'
import type { Egress } from '../../platform/outbound/egress.ts'
import {
  sendFailure,
  unconfiguredSender,
  type NotificationSender,
  type OutgoingMail,
  type SendFailure,
} from './notification-sender.ts'
import { createSesTransport } from './ses-transport.ts'
import { createSmtpTransport, type MailTransport } from './smtp-transport.ts'

type MailConfiguration = Pick<
  Configuration,
  | 'profile'
  | 'mailTransport'
  | 'smtpUrl'
  | 'smtpFrom'
  | 'sesRegion'
  | 'sesEndpoint'
  | 'notificationWorkers'
  | 'stepTimeoutMs'
>

/** Composes a mail from checked parts and sends it by SMTP or SES, as the configuration says. */
export function createMailSender(egress: Egress, configuration: MailConfiguration): NotificationSender<OutgoingMail> {
  const from = readSenderAddress(configuration.smtpFrom ?? '')
  const transport = from === undefined ? undefined : transportOf(egress, configuration, from)
  if (from === undefined || transport === undefined) return unconfiguredSender('smtp', 'SMTP_URL and SMTP_FROM')
  return {
    ...transport,
    async send(mail, signal) {
      return refusalOf(mail) ?? transport.send(compose(mail, from), signal)
    },
  }
}

function transportOf(
  egress: Egress,
  configuration: MailConfiguration,
  from: MailSenderAddress,
): MailTransport | undefined {
  const { mailTransport, smtpUrl, sesRegion, sesEndpoint, stepTimeoutMs } = configuration
  if (mailTransport === 'ses')
    return sesRegion === undefined
      ? undefined
      : createSesTransport({ egress, region: sesRegion, endpoint: sesEndpoint, timeoutMs: stepTimeoutMs })
  const server = smtpUrl === undefined ? undefined : readSmtpAddress(smtpUrl)
  return server === undefined
    ? undefined
    : createSmtpTransport({ egress, server, clientName: domainOf(from.address), configuration })
}

/** The only headers that a caller may add. The others are ours. */
const additionalHeader = /^(?:List|X)-[A-Za-z-]{1,60}$/

/** Refuses whatever could address a second recipient or add a header, before a byte is sent. */
function refusalOf({ to, subject, headers }: OutgoingMail): SendFailure | undefined {
  if (!isMailAddress(to)) return sendFailure('invalid_recipient', 'the recipient is not one e-mail address')
  if (hasControlCharacter(subject)) return sendFailure('provider_4xx', 'the subject contains a control character')
  const isSafe = Object.entries(headers).every(([name, value]) => additionalHeader.test(name) && isOneLine(name, value))
  return isSafe ? undefined : sendFailure('provider_4xx', 'a header has a name or a value that is not allowed')
}

/** RFC 5322 (2.1.1). A line can be folded only where the text has a blank. */
const longestLine = 998

function isOneLine(name: string, value: string): boolean {
  return `${name}: ${value}`.length <= longestLine && /^[\x20-\x7e]+$/.test(value)
}

/** Words that fit a line and have one blank between them. A reader shows them as they are, unless they contain `=?`. */
const plainWords = /^[!-~]{1,60}(?: [!-~]{1,60})*$/
/** Of an encoded word, so that two fit a line. */
const longestWord = 52

/**
 * A reader decodes whatever has the form of an encoded word (RFC 2047), whoever wrote it. So a subject that contains
 * the mark of one is encoded itself, as a whole.
 */
function headerOfSubject(subject: string) {
  const isPlain = subject === '' || (plainWords.test(subject) && !subject.includes('=?'))
  return { prepared: true, foldLines: true, value: isPlain ? subject : encodeWord(subject, 'B', longestWord) }
}

function compose(
  { notificationId, to, subject, html, text, headers }: OutgoingMail,
  from: MailSenderAddress,
): SendMailOptions {
  return {
    from,
    to: { name: '', address: to },
    envelope: { from: from.address, to: [to] },
    html,
    text,
    messageId: `<${notificationId}@${domainOf(from.address)}>`,
    headers: { ...headers, Subject: headerOfSubject(subject), 'Auto-Submitted': 'auto-generated' },
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
    // SES replaces the Message-ID. Its tags keep the notification id.
    ses: { EmailTags: [{ Name: 'notification', Value: notificationId }] },
  }
}

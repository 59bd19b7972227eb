import { EgressError } from '../../platform/outbound/egress-error.ts'
import { errorCode } from '../../platform/kit/error-codes.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'
import {
  sendFailure,
  unknownDelivery,
  type ProviderResponse,
  type SendErrorCode,
  type SendOutcome,
} from './notification-sender.ts'

/** A reply of the server, without its text. */
interface Reply extends ProviderResponse {
  readonly status: number
  /** The command that it answers. */
  readonly command: string
}

/** RFC 4954: log in first, another mechanism, other credentials, TLS first. Only an operator can mend these. */
const loginReplies = new Set([530, 534, 535, 538])
/** Replies to RCPT TO that mean this recipient, not the sender or the message. */
const recipientReplies = new Set([550, 551, 553, 501])

/**
 * Classifies a failure of nodemailer. SMTP reverses the classes of HTTP: 4yz is transient, 5yz is permanent.
 * `isHandedOver` is true once the whole message was given to the connection, with the final dot. From then on only a
 * reply to it is an answer.
 */
export function classifySmtpFailure(error: unknown, isHandedOver: boolean): SendOutcome {
  const reply = replyOf(error)
  if (isHandedOver && reply?.command !== 'DATA')
    return unknownDelivery('the mail server gave no answer to the whole message')
  if (reply === undefined) return sendFailure(...unanswered(error))
  const { status, code, command } = reply
  const said = `${command} was answered ${status}${code === null ? '' : ` ${code}`}`
  return sendFailure(classOf(reply), said, { response: { status, code } })
}

function classOf({ status, command }: Reply): SendErrorCode {
  const isPermanent = status >= 500 && status < 600
  if (loginReplies.has(status) || (isPermanent && command.startsWith('AUTH '))) return 'provider_auth_failed'
  if (command === 'RCPT TO' && recipientReplies.has(status)) return 'invalid_recipient'
  return isPermanent ? 'provider_4xx' : 'provider_5xx'
}

function unanswered(error: unknown): [SendErrorCode, string] {
  const code = errorCode(error) ?? ''
  if (error instanceof EgressError)
    return [
      error.code === 'timeout' ? 'provider_timeout' : 'provider_5xx',
      `no connection to the mail server (${code})`,
    ]
  switch (code) {
    case 'ETIMEDOUT':
    case 'EABORT':
      return ['provider_timeout', 'the mail server was silent']
    case 'EAUTH':
    case 'ENOAUTH':
      return ['provider_auth_failed', 'the mail server offers no way to log in']
    case 'EMESSAGE':
    case 'EENVELOPE':
      return ['provider_4xx', 'the mail server takes no message like this one']
    case 'ESTREAM':
    case 'EFILEACCESS':
    case 'EURLACCESS':
      return ['provider_4xx', 'the mail cannot be composed']
    case 'ETLS':
      return ['provider_5xx', 'TLS with the mail server failed']
    default:
      return ['provider_5xx', `the connection to the mail server broke (${systemCode(error) ?? code})`]
  }
}

/** For operators, for example ECONNREFUSED or DEPTH_ZERO_SELF_SIGNED_CERT. */
function systemCode(error: unknown): string | undefined {
  const code = memberOf(error, 'originalCode')
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : undefined
}

/** Undefined without a reply. A reply that a broken connection cut off has no command. */
function replyOf(error: unknown): Reply | undefined {
  const status = memberOf(error, 'responseCode')
  const command = memberOf(error, 'command')
  if (typeof status !== 'number' || typeof command !== 'string') return undefined
  return {
    status,
    code: enhancedCode(memberOf(error, 'response')),
    command: command === 'CONN' ? 'the connection' : command,
  }
}

/** The status code of RFC 3463 at the start of a reply, for example 5.1.1. */
export function enhancedCode(response: unknown): string | null {
  return typeof response === 'string' ? (/^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1] ?? null) : null
}

import { Readable } from 'node:stream'
import { createTransport } from 'nodemailer'
import { EgressError } from '../../platform/outbound/egress-error.ts'
import type { Egress } from '../../platform/outbound/egress.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'
import {
  sendFailure,
  unansweredCall,
  unknownDelivery,
  type SendErrorCode,
  type SendOutcome,
} from './notification-sender.ts'
import type { MailTransport } from './smtp-transport.ts'

interface SesOptions {
  readonly egress: Pick<Egress, 'request' | 'openForMs'>
  readonly region: string
  readonly endpoint: string | undefined
  readonly timeoutMs: number
}

/** The part of a request of the SDK that its handler needs. */
interface SdkRequest {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body?: string | Uint8Array
}

const maxBytes = 64 * 1024

/** Amazon SES by its API. The SDK signs and reads; its requests go through egress, with our limits and circuit. */
export function createSesTransport({ egress, region, endpoint: given, timeoutMs }: SesOptions): MailTransport {
  const endpoint = given ?? `https://email.${region}.amazonaws.com`
  const call = { purpose: 'mail', timeoutMs, maxBytes } as const

  /** By the signal of the mail. Once a signal has ended, the SDK replaces the error of its handler by another one. */
  const failures = new WeakMap<AbortSignal, unknown>()

  async function handle(
    { method, path, headers, body }: SdkRequest,
    { abortSignal }: { abortSignal?: AbortSignal } = {},
  ) {
    try {
      const response = await egress.request(`${endpoint}${path}`, {
        ...call,
        method: method === 'POST' ? 'POST' : 'GET',
        headers: withoutHopByHop(headers),
        body: body ?? null,
        ...(abortSignal === undefined ? {} : { signal: abortSignal }),
      })
      const { status: statusCode, headers: answered } = response
      return { response: { statusCode, headers: answered, body: Readable.from([await response.bytes()]) } }
    } catch (error) {
      if (abortSignal !== undefined) failures.set(abortSignal, error)
      throw error
    }
  }

  // Loaded where SES is configured, and nowhere else. A repeat is an attempt of the notification, with its own record.
  const sdk = import('@aws-sdk/client-sesv2').then(({ SendEmailCommand, SESv2Client }) => ({
    SendEmailCommand,
    client: new SESv2Client({ region, endpoint, maxAttempts: 1, requestHandler: { handle } }),
  }))

  return {
    providerName: 'ses',
    openForMs: () => egress.openForMs(endpoint, 'mail'),
    async send(mail, stepSignal) {
      const signal = AbortSignal.any([stepSignal])
      const { client, SendEmailCommand } = await sdk
      // One transport for each mail, because nodemailer passes no signal to the SDK. It holds no connection.
      const sesClient = {
        send: async (command: unknown): Promise<unknown> => {
          if (!(command instanceof SendEmailCommand)) throw new TypeError('not a mail')
          return client.send(command, { abortSignal: signal })
        },
      }
      const transport = createTransport({
        SES: { sesClient, SendEmailCommand },
        maxRecipients: 1,
        disableFileAccess: true,
        disableUrlAccess: true,
      })
      try {
        const { response } = await transport.sendMail(mail)
        return { kind: 'sent', providerMessageId: response, response: { status: 200, code: null } }
      } catch (error) {
        return classifySesFailure(failures.get(signal) ?? error)
      }
    },
    async isReachable(signal) {
      try {
        // Any answer: a call of the API would need a right that sending does not need.
        const answer = await egress.request(endpoint, { ...call, signal })
        await answer.discard()
        return answer.status < 500
      } catch {
        return false
      }
    },
    close: async () => (await sdk).client.destroy(),
  }
}

/** undici sets these itself. The signature does not cover them. */
function withoutHopByHop(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !['host', 'content-length', 'connection', 'expect'].includes(name.toLowerCase()),
    ),
  )
}

const unsent = new Map<string, SendErrorCode>([
  ['CredentialsProviderError', 'provider_auth_failed'],
  ['AbortError', 'provider_timeout'],
])
const limited = new Set(['TooManyRequestsException', 'LimitExceededException', 'ThrottlingException'])

export function classifySesFailure(error: unknown): SendOutcome {
  if (error instanceof EgressError) return unansweredCall('SES', error)
  const status = memberOf(memberOf(error, '$metadata'), 'httpStatusCode')
  const name = error instanceof Error && /^[A-Za-z]{1,64}$/.test(error.name) ? error.name : 'unrecognised'
  // Nothing was sent: the SDK found no credentials, or nodemailer could not compose the mail.
  if (typeof status !== 'number') return sendFailure(unsent.get(name) ?? 'provider_4xx', `not sent (${name})`)
  if (status < 300) return unknownDelivery('SES gave an answer without a message id')
  return sendFailure(classOf(status, name), `SES answered ${status} ${name}`, { response: { status, code: name } })
}

function classOf(status: number, name: string): SendErrorCode {
  if (status === 429 || limited.has(name)) return 'provider_429'
  if (status >= 500) return 'provider_5xx'
  return status === 401 || status === 403 ? 'provider_auth_failed' : 'provider_4xx'
}

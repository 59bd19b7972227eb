import { createTransport, type SendMailOptions, type SMTPPoolOptions } from 'nodemailer'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { isLoopbackHost } from '../../platform/configuration/profile-rules.ts'
import type { SmtpAddress } from '../../platform/configuration/smtp-address.ts'
import { createCircuitBreaker } from '../../platform/outbound/circuit-breaker.ts'
import type { Egress } from '../../platform/outbound/egress.ts'
import type { NotificationSender, SendOutcome } from './notification-sender.ts'
import { classifySmtpFailure, enhancedCode } from './smtp-failures.ts'

/** Sends a mail that is composed and checked. */
export type MailTransport = NotificationSender<SendMailOptions>

interface SmtpOptions {
  readonly egress: Pick<Egress, 'connectToMailServer' | 'noteRefusedCertificate' | 'calls'>
  readonly server: SmtpAddress
  /** Our name in EHLO. */
  readonly clientName: string
  readonly configuration: Pick<Configuration, 'profile' | 'notificationWorkers' | 'stepTimeoutMs'>
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
}

/** For the connection, TLS and login together. The wait for the answer to a message has the limit of the step. */
const longestConnectingMs = 5_000
const idleMs = 30_000
const circuit = 'mail server'

/**
 * A pool of connections to one mail server. TLS is required in production and wherever a password is sent, except on
 * loopback.
 */
export function createSmtpTransport(options: SmtpOptions): MailTransport {
  const { egress, server, clientName, configuration, now = () => performance.now() } = options
  const { profile, notificationWorkers, stepTimeoutMs } = configuration
  const connectingMs = Math.min(longestConnectingMs, stepTimeoutMs)
  const needsTls = !isLoopbackHost(server.host) && (profile === 'production' || server.credentials !== undefined)
  const breaker = createCircuitBreaker({ threshold: 5, openMs: 5_000, now })
  /** Signals of mails whose last byte was read by the connection. The final dot follows at once. */
  const handedOver = new WeakSet<AbortSignal>()

  const settings: SMTPPoolOptions & { readonly pool: true } = {
    pool: true,
    host: server.host,
    port: server.port,
    secure: server.isEncryptedAtOnce,
    requireTLS: needsTls,
    tls: { minVersion: 'TLSv1.2' },
    name: clientName,
    ...(server.credentials === undefined
      ? {}
      : { auth: { user: server.credentials.user, pass: server.credentials.password } }),
    connectionTimeout: connectingMs,
    greetingTimeout: connectingMs,
    socketTimeout: stepTimeoutMs,
    idleTimeout: idleMs,
    maxConnections: notificationWorkers,
    // A repeat is an attempt of the notification, with its own record.
    maxRequeues: 0,
    maxRecipients: 1,
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket(_, done) {
      egress.connectToMailServer().then(
        (connection) => done(null, { connection }),
        (error: unknown) => done(error instanceof Error ? error : new Error('no connection')),
      )
    },
  }
  const pool = createTransport(settings)
  pool.use('stream', ({ data, message }, done) => {
    const { signal } = data
    message.processFunc((whole) => {
      if (signal !== undefined) whole.once('end', () => handedOver.add(signal))
      return whole
    })
    done()
  })
  // Errors of idle connections; those of a mail reject its promise.
  pool.on('error', () => undefined)

  return {
    providerName: 'smtp',
    openForMs: () => breaker.openForMs(circuit),
    async send(mail, stepSignal) {
      const afterMs = breaker.waitMs(circuit)
      if (afterMs > 0) return { kind: 'not-sent', afterMs }
      const signal = AbortSignal.any([stepSignal])
      const outcome = await attempt({ ...mail, signal })
      breaker.report(circuit, stepSignal.aborted && isNoTimeout(stepSignal.reason) ? 'unknown' : healthOf(outcome))
      return outcome
    },
    async isReachable(signal) {
      const { promise: ended, resolve } = Promise.withResolvers<false>()
      signal.addEventListener('abort', () => resolve(false), { once: true })
      if (signal.aborted) return false
      const { end } = egress.calls.begin('mail')
      signal.addEventListener('abort', () => end({ error: signal.reason }), { once: true })
      const verified = pool.verify().then(
        () => {
          end({ status: 250 })
          return true as const
        },
        (error: unknown) => {
          end({ error })
          egress.noteRefusedCertificate('SMTP_URL', error)
          return false as const
        },
      )
      return Promise.race([verified, ended])
    },
    close: async () => pool.close({ force: true }),
  }

  async function attempt(mail: SendMailOptions & { readonly signal: AbortSignal }): Promise<SendOutcome> {
    const { end } = egress.calls.begin('mail')
    try {
      const { messageId, response } = await pool.sendMail(mail)
      const status = Number(response.slice(0, 3))
      end({ status: 250 })
      return { kind: 'sent', providerMessageId: messageId, response: { status, code: enhancedCode(response) } }
    } catch (error) {
      end({ error: mail.signal.aborted ? mail.signal.reason : error })
      egress.noteRefusedCertificate('SMTP_URL', error)
      return classifySmtpFailure(error, handedOver.has(mail.signal))
    }
  }
}

/** Every reply proves that the server works, except 421, by which it closes. */
function healthOf(outcome: SendOutcome): 'success' | 'failure' {
  if (outcome.kind === 'unknown') return 'failure'
  if (outcome.kind !== 'failed') return 'success'
  return outcome.response === null || outcome.response.status === 421 ? 'failure' : 'success'
}

function isNoTimeout(reason: unknown): boolean {
  return !(reason instanceof Error && reason.name === 'TimeoutError')
}

import type { EgressError } from '../../platform/outbound/egress-error.ts'

/** One mail to one recipient. */
export interface OutgoingMail {
  /** Gives the Message-ID, so each attempt sends the same one. */
  readonly notificationId: string
  readonly to: string
  readonly subject: string
  readonly html: string
  readonly text: string
  /** Additional headers, for example List-Unsubscribe. */
  readonly headers: Readonly<Record<string, string>>
}

export interface OutgoingChat {
  /** The provider's idempotency key. */
  readonly notificationId: string
  readonly channel: string
  /** Escaped by the template. */
  readonly text: string
}

/** Classes of failures (specification 7.4). `provider_429`, `provider_5xx` and `provider_timeout` are transient. */
export type SendErrorCode =
  | 'invalid_recipient'
  | 'provider_auth_failed'
  | 'provider_4xx'
  | 'provider_429'
  | 'provider_5xx'
  | 'provider_timeout'

/** An answer without its text, which may quote an address or the message. */
export interface ProviderResponse {
  /** Reply code of SMTP, or HTTP status. */
  readonly status: number | null
  /** Enhanced status code of SMTP, or the provider's own name of the error. */
  readonly code: string | null
}

export type SendOutcome =
  | { readonly kind: 'sent'; readonly providerMessageId: string | null; readonly response: ProviderResponse }
  | SendFailure
  /** The message was handed over and no answer came. The provider may have sent it. */
  | {
      readonly kind: 'unknown'
      readonly errorCode: 'delivery_unknown'
      readonly errorDetail: string
      readonly response: null
    }
  /** The circuit is open. Nothing was sent, and this is no attempt. */
  | { readonly kind: 'not-sent'; readonly afterMs: number }

export interface SendFailure {
  readonly kind: 'failed'
  readonly isTransient: boolean
  /** The provider refused for a reason that we do not know, so it may pass. */
  readonly isUnclear: boolean
  readonly errorCode: SendErrorCode
  /** Contains neither address nor text. */
  readonly errorDetail: string
  /** The provider's own wait in milliseconds; 0 without one. */
  readonly retryAfterMs: number
  readonly response: ProviderResponse | null
}

/** Sends messages of one channel. A call makes one attempt: retries are events of the notification. */
export interface NotificationSender<Message> {
  /** In delivery attempts: `smtp`, `ses` or `slack`. */
  readonly providerName: string
  /** Milliseconds for which the circuit stays open; 0 if calls are possible. */
  openForMs(): number
  /** One attempt. Every end is an outcome: it never rejects. A signal that ends counts as silence of the provider. */
  send(message: Message, signal: AbortSignal): Promise<SendOutcome>
  /** True if the provider answers and accepts our credentials. Sends no message and never rejects. */
  isReachable(signal: AbortSignal): Promise<boolean>
  close(): Promise<void>
}

const transient: ReadonlySet<SendErrorCode> = new Set(['provider_429', 'provider_5xx', 'provider_timeout'])

export function sendFailure(
  errorCode: SendErrorCode,
  errorDetail: string,
  answer: Partial<Pick<SendFailure, 'response' | 'retryAfterMs' | 'isUnclear'>> = {},
): SendFailure {
  const { response = null, retryAfterMs = 0, isUnclear = false } = answer
  const isTransient = transient.has(errorCode)
  return { kind: 'failed', isTransient, isUnclear, errorCode, errorDetail, retryAfterMs, response }
}

export function unknownDelivery(errorDetail: string): SendOutcome {
  return { kind: 'unknown', errorCode: 'delivery_unknown', errorDetail, response: null }
}

/** The outcome of an HTTP call without an answer. */
export function unansweredCall(provider: string, { code, retryAfterMs, mayHaveBeenSent }: EgressError): SendOutcome {
  if (code === 'circuit_open') return { kind: 'not-sent', afterMs: retryAfterMs ?? 1_000 }
  if (mayHaveBeenSent) return unknownDelivery(`${provider} gave no answer (${code})`)
  const isSilent = code === 'timeout' || code === 'aborted'
  return sendFailure(isSilent ? 'provider_timeout' : 'provider_5xx', `no connection to ${provider} (${code})`)
}

/** Stands in where the configuration names no provider. Fails permanently, in a class that a retry brings back. */
export function unconfiguredSender(providerName: string, variables: string): NotificationSender<unknown> {
  return {
    providerName,
    openForMs: () => 0,
    send: async () => sendFailure('provider_auth_failed', `no provider is configured (${variables})`),
    isReachable: async () => true,
    close: async () => undefined,
  }
}

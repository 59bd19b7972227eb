import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Egress } from '../../platform/outbound/egress.ts'
import { EgressError, type EgressErrorCode } from '../../platform/outbound/egress-error.ts'
import type { DeliveryErrorClass } from '../../streams/webhook-delivery/events.ts'
import { readRetryAfter } from '../../platform/outbound/outside-answers.ts'

interface WebhookMessage {
  readonly url: string
  /** The id of the subscription. Each key has its own connections and circuit, so no receiver holds up another. */
  readonly concurrencyKey: string
  /** The id of the delivery: the same for each attempt. */
  readonly id: string
  readonly eventType: string
  readonly body: string
  /** Covers id, instant and body. */
  readonly signature: string
  readonly sentAt: Date
}

export type SendResult =
  | { readonly kind: 'delivered'; readonly statusCode: number }
  | {
      readonly kind: 'failed'
      readonly statusCode: number | null
      readonly errorClass: DeliveryErrorClass
      /** `Retry-After` of the receiver in milliseconds; 0 without one. */
      readonly retryAfterMs: number
    }
  /** The circuit is open. Nothing was sent, and this is no attempt. */
  | { readonly kind: 'not-sent'; readonly afterMs: number }

/** Standard Webhooks 1.0.0: id, timestamp of the attempt, signature. Only 2xx is success. */
export interface WebhookSender {
  /** Milliseconds for which the circuit stays open; 0 if the receiver may be called. */
  openForMs(url: string, concurrencyKey: string): number
  send(message: WebhookMessage, signal: AbortSignal): Promise<SendResult>
}

const mostAnswerBytes = 64 * 1024

type ConnectionError = Exclude<EgressErrorCode, 'circuit_open'>

/**
 * One class for an unknown name, a refused and a forbidden connection. Separate classes would show our network to
 * tenants.
 */
function classForTenants(code: ConnectionError): DeliveryErrorClass {
  return code === 'dns' || code === 'connect' || code === 'address_forbidden' ? 'connection_failed' : code
}

export function createWebhookSender(
  egress: Egress,
  { webhookTimeoutMs, profile }: Pick<Configuration, 'webhookTimeoutMs' | 'profile'>,
): WebhookSender {
  return {
    openForMs(url, concurrencyKey) {
      try {
        return egress.openForMs(url, 'webhook', concurrencyKey)
      } catch (error) {
        // An address that can never be called is an outcome of the attempt.
        if (error instanceof EgressError) return 0
        throw error
      }
    },

    async send({ url, concurrencyKey, id, eventType, body, signature, sentAt }, signal) {
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'clinical-assessment-platform/1',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
        'webhook-signature': signature,
        'webhook-event-type': eventType,
      }
      try {
        const limits = { timeoutMs: webhookTimeoutMs, maxBytes: mostAnswerBytes, signal }
        const response = await egress.request(url, {
          purpose: 'webhook',
          lane: concurrencyKey,
          method: 'POST',
          headers,
          body,
          ...limits,
        })
        const { status } = response
        // Only the status counts. The body is not stored.
        await response.discard()
        if (status >= 200 && status < 300) return { kind: 'delivered', statusCode: status }
        const errorClass = status >= 300 && status < 400 ? 'redirect' : 'http_status'
        const retryAfterMs =
          status === 429 || status === 503 ? readRetryAfter(response.headers['retry-after'], sentAt) : 0
        return { kind: 'failed', statusCode: status, errorClass, retryAfterMs }
      } catch (error) {
        if (!(error instanceof EgressError)) throw error
        if (error.code === 'circuit_open') return { kind: 'not-sent', afterMs: error.retryAfterMs ?? 1000 }
        return {
          kind: 'failed',
          statusCode: null,
          errorClass: profile === 'production' ? classForTenants(error.code) : error.code,
          retryAfterMs: 0,
        }
      }
    },
  }
}

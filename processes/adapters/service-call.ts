import type { Egress, EgressRequest } from '../../platform/egress.ts'
import { EgressError } from '../../platform/egress-error.ts'
import type { PlatformToken } from './platform-token.ts'

export type ServiceAnswer =
  | { readonly kind: 'answer'; readonly body: unknown }
  | { readonly kind: 'not-found' }
  /** No answer that could be relied on. */
  | { readonly kind: 'unavailable'; readonly status: number | null }

export interface ServiceCalls {
  readonly egress: Egress
  readonly token: PlatformToken
}

/** What a service answered; the body is undefined where it is no JSON. */
export interface ServiceReply {
  readonly status: number
  readonly body: unknown
}

/**
 * GET between services. `no-cache` asks for an answer that is current or none: nothing is decided on a read model that
 * is behind (T24).
 */
export async function getFromService(calls: ServiceCalls, url: URL, signal: AbortSignal): Promise<ServiceAnswer> {
  const reply = await callService(calls, url, { headers: { 'cache-control': 'no-cache' } }, signal)
  if (reply?.status === 200 && reply.body !== undefined) return { kind: 'answer', body: reply.body }
  if (reply?.status === 404) return { kind: 'not-found' }
  return { kind: 'unavailable', status: reply === null || reply.status === 200 ? null : reply.status }
}

/**
 * A call between services with a platform token; a token that is refused is renewed once. Null when no answer came:
 * the other side may have acted on the call all the same.
 */
export async function callService(
  { egress, token }: ServiceCalls,
  url: URL,
  request: Pick<EgressRequest, 'method' | 'headers' | 'body'>,
  signal: AbortSignal,
): Promise<ServiceReply | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      const headers = { ...request.headers, authorization: `Bearer ${await token.get()}` }
      const limits = { timeoutMs: 10_000, maxBytes: 1024 * 1024, signal }
      const response = await egress.request(url, { ...request, purpose: 'service', headers, ...limits })
      if (response.status !== 401 || attempt === 2) return { status: response.status, body: jsonOf(await response.text()) }
      await response.discard()
      token.drop()
    } catch (error) {
      // An open circuit is no try: the worker puts the step off. Whatever else broke, there is no answer to rely on.
      if (error instanceof EgressError && error.code === 'circuit_open') throw error
      return null
    }
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

import type { Egress } from '../../platform/egress.ts'
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

/**
 * GET between services with a platform token; a token that is refused is renewed once. `no-cache` asks for an answer
 * that is current or none: nothing is decided on a read model that is behind (T24).
 */
export async function getFromService({ egress, token }: ServiceCalls, url: URL, signal: AbortSignal): Promise<ServiceAnswer> {
  for (let attempt = 1; attempt <= 2; attempt++) {
    try {
      const headers = { authorization: `Bearer ${await token.get()}`, 'cache-control': 'no-cache' }
      const limits = { timeoutMs: 10_000, maxBytes: 1024 * 1024, signal }
      const response = await egress.request(url, { purpose: 'service', headers, ...limits })
      if (response.status === 200) return { kind: 'answer', body: await response.json() }
      await response.discard()
      if (response.status === 404) return { kind: 'not-found' }
      if (response.status !== 401 || attempt === 2) return { kind: 'unavailable', status: response.status }
      token.drop()
    } catch (error) {
      // An open circuit is no try: the worker puts the step off. Whatever else broke, there is no answer to rely on.
      if (error instanceof EgressError && error.code === 'circuit_open') throw error
      return { kind: 'unavailable', status: null }
    }
  }
  return { kind: 'unavailable', status: null }
}

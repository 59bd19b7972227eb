import type { Egress, EgressRequest } from '../../platform/outbound/egress.ts'
import { EgressError } from '../../platform/outbound/egress-error.ts'
import { pause } from '../../platform/kit/backoff.ts'
import { readJsonText } from '../../platform/kit/json-reading.ts'
import { memberOf } from './outside-answers.ts'
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
 * A call between services with a platform token. A refused token is renewed once: it has ended (401), or it is older than a
 * scope that its client was given since (403). Null when no answer came: the other side may have acted on the call all the
 * same.
 */
export async function callService(
  { egress, token }: ServiceCalls,
  url: URL,
  request: Pick<EgressRequest, 'method' | 'headers' | 'body'>,
  signal: AbortSignal,
): Promise<ServiceReply | null> {
  let isRenewed = false
  for (let round = 1; ; round++) {
    try {
      const headers = { ...request.headers, authorization: `Bearer ${await token.get()}` }
      const limits = { timeoutMs: 10_000, maxBytes: 1024 * 1024, signal }
      const response = await egress.request(url, { ...request, purpose: 'service', headers, ...limits })
      const { status } = response
      const body = jsonOf(await response.text())
      if (!isRenewed && (status === 401 || (status === 403 && memberOf(body, 'code') === 'insufficient-scope'))) {
        isRenewed = true
        token.drop()
        continue
      }
      if (!isLeaving(status, body) || round > pausesMs.length) return { status, body }
    } catch (error) {
      // An open circuit is no try: the worker puts the step off. Whatever else broke, there is no answer to rely on.
      if (error instanceof EgressError && error.code === 'circuit_open') throw error
      const isUnheard = error instanceof EgressError && error.code === 'connect' && !error.mayHaveBeenSent
      if (!isUnheard || round > pausesMs.length) return null
    }
    await pause(pausesMs[round - 1] ?? 0, signal)
    if (signal.aborted) return null
  }
}

/**
 * Milliseconds between the calls to an instance that is going away, about to be replaced or not there yet, until a balancer
 * finds another one: a rolling restart of the APIs must not use up the tries of a step.
 */
const pausesMs = [200, 400, 800]

function isLeaving(status: number, body: unknown): boolean {
  const code = memberOf(body, 'code')
  return status === 503 && (code === 'shutting-down' || code === 'written-by-newer-version')
}

function jsonOf(text: string): unknown {
  try {
    return readJsonText(text)
  } catch {
    return undefined
  }
}

import type { Egress, EgressRequest } from '../../platform/outbound/egress.ts'
import { EgressError } from '../../platform/outbound/egress-error.ts'
import { pause } from '../../platform/kit/backoff.ts'
import { readJsonText } from '../../platform/kit/json-reading.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'
import type { PlatformToken } from './platform-token.ts'

export type ServiceAnswer =
  | { readonly kind: 'answer'; readonly body: unknown }
  | { readonly kind: 'not-found' }
  /** No reliable answer. */
  | { readonly kind: 'unavailable'; readonly status: number | null }

export interface ServiceCalls {
  readonly egress: Egress
  readonly token: PlatformToken
}

/** The answer of a service. The body is undefined if it is no JSON. */
export interface ServiceReply {
  readonly status: number
  readonly body: unknown
}

/**
 * GET between services. With `no-cache` the answer is current, or there is none: no decision uses a read model that is
 * behind.
 */
export async function getFromService(calls: ServiceCalls, url: URL, signal: AbortSignal): Promise<ServiceAnswer> {
  const reply = await callService(calls, url, { headers: { 'cache-control': 'no-cache' } }, signal)
  if (reply?.status === 200 && reply.body !== undefined) return { kind: 'answer', body: reply.body }
  if (reply?.status === 404) return { kind: 'not-found' }
  return { kind: 'unavailable', status: reply === null || reply.status === 200 ? null : reply.status }
}

/**
 * A call between services with a platform token. A refused token is renewed once: it has expired (401), or its client
 * has received a scope since (403). Null if no answer came: the other side may have acted on the call anyway.
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
      // An open circuit is no try: the worker puts the step off. After any other error there is no reliable answer.
      if (error instanceof EgressError && error.code === 'circuit_open') throw error
      const isUnheard = error instanceof EgressError && error.code === 'connect' && !error.mayHaveBeenSent
      if (!isUnheard || round > pausesMs.length) return null
    }
    await pause(pausesMs[round - 1] ?? 0, signal)
    if (signal.aborted) return null
  }
}

/**
 * Milliseconds between calls to an instance that stops or has not started, until a balancer finds another instance. A
 * rolling restart of the APIs must not use up the tries of a step.
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

import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { CommandContext, TenantId } from '../kit/tenants.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** UUID shared by everything that this request sets in motion. */
    correlationId: string
    /** W3C trace context of this server's span, for events and outgoing calls. */
    traceparent: string
  }
}

const acceptableRequestId = /^[A-Za-z0-9._-]{1,128}$/
const validTraceparent = /^(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/

// `randomUUID` draws from a pool; asking the system for each id took a tenth of a request's time.

/** The caller's X-Request-Id when it is harmless, else one of our own. */
export function requestIdFrom(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' && acceptableRequestId.test(header) ? header : randomUUID()
}

type Header = string | readonly string[] | undefined

/** The caller's `traceparent`, in version 00. Undefined if it is missing or malformed. */
export function callersTraceparent(header: Header): string | undefined {
  const match = typeof header === 'string' && header.length <= 512 ? validTraceparent.exec(header) : null
  return match === null ? undefined : `00-${match[1]}-${match[2]}-${match[3]}`
}

/** Continues the caller's trace with an id of our own. A malformed or missing header starts a trace. */
export function traceparentFrom(header: Header): string {
  const callers = callersTraceparent(header)
  const traceId = callers === undefined ? randomUUID().replaceAll('-', '') : traceIdOf(callers)
  const spanId = randomUUID().replaceAll('-', '').slice(16)
  return `00-${traceId}-${spanId}-${callers?.slice(-2) ?? '01'}`
}

export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35)
}

/**
 * Who causes an append and why, for the event metadata. Each call mints a command id of its own, since the ids of an
 * append's events derive from it and a request may append to several streams; the correlation id is the request's.
 */
export function commandContext(
  request: FastifyRequest,
  {
    orgId,
    clientId = request.caller.clientId,
  }: { readonly orgId?: TenantId | undefined; readonly clientId?: string } = {},
): CommandContext {
  return {
    commandId: randomUUID(),
    correlationId: request.correlationId,
    orgId,
    clientId,
    userId: request.caller.actor?.auditId,
    requestId: request.id,
    traceparent: request.traceparent,
  }
}

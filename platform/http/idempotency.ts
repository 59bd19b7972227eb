import canonicalize from 'canonicalize'
import type { FastifyRequest } from 'fastify'
import { parse, v5 as uuidv5 } from 'uuid'
import { problem } from './problems.ts'
import type { TenantId } from '../kit/tenants.ts'

export interface Idempotency {
  readonly key: string
  /** Where the key counts: organisation, client, method and canonical route with its path values. */
  readonly scopeId: string
}

const namespace = parse('6c2f2c1e-7c5b-5f0e-9a51-5d6f1d0a9b37')
const acceptableKey = /^[\x21-\x7e]{1,255}$/

/**
 * The request's Idempotency-Key with its scope, or null without the header. `orgId` is the organisation that the
 * request acts for, when the token has none. Throws `idempotency-key-invalid`.
 */
export function idempotencyOf(request: FastifyRequest, orgId?: TenantId | null): Idempotency | null {
  const header = request.headers['idempotency-key']
  if (header === undefined) return null
  const key = typeof header === 'string' ? withoutQuotes(header) : ''
  if (!acceptableKey.test(key)) throw problem('idempotency-key-invalid')
  const { caller, method } = request
  return { key, scopeId: JSON.stringify([orgId ?? caller.orgId, caller.clientId, method, canonicalRouteOf(request)]) }
}

/** The id that a key fixes: the same for every repeat. `part` distinguishes several ids of one request. */
export function idempotentId({ scopeId, key }: Idempotency, part?: string): string {
  const name = JSON.stringify(part === undefined ? [scopeId, key] : [scopeId, key, part])
  return uuidv5(Buffer.from(name), namespace)
}

/**
 * HMAC over the canonical JSON (RFC 8785) of a request body. Bytes of images do not belong into it: the caller passes
 * the body with each `images[].data` replaced by SHA-256 and length of its bytes.
 */
export function fingerprintBody(body: unknown, hmac: (bytes: Uint8Array) => string): string {
  return hmac(new TextEncoder().encode(canonicalize(body ?? null)))
}

/** The service and path with the request's values: the same for all mounts, so that an Idempotency-Key counts once. */
function canonicalRouteOf({ routeOptions: { config }, params }: FastifyRequest): string {
  if (config.route === undefined) return ''
  const values = new Map<string, unknown>(Object.entries(params ?? {}))
  const path = config.route.path.replace(/:([A-Za-z0-9_]+)/g, (_, name: string) =>
    encodeURIComponent(canonicalValue(values.get(name))),
  )
  return `/${config.route.service}${path}`
}

/** UUIDs name the same record in either case. */
function canonicalValue(value: unknown): string {
  const text = typeof value === 'string' ? value : ''
  return /^[0-9a-f-]{36}$/i.test(text) ? text.toLowerCase() : text
}

function withoutQuotes(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
}

import type { FastifyInstance } from 'fastify'
import type { MethodIndex } from './route-methods.ts'

/** What a page may send. Secrets of the administration are not among them: they do not belong in a page. */
const sent = [
  'authorization',
  'cache-control',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'last-event-id',
  'prefer',
  'traceparent',
  'x-actor-context',
  'x-min-commit-position',
  'x-purpose-of-use',
  'x-request-id',
].join(', ')

/** What a page may read, beside the headers that every page may. */
const read = [
  'allow',
  'api-version',
  'deprecation',
  'etag',
  'idempotency-replayed',
  'link',
  'location',
  'preference-applied',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'sunset',
  'traceparent',
  'www-authenticate',
  'x-commit-position',
  'x-projection-lag-ms',
  'x-request-id',
].join(', ')

/** Seconds for which a browser keeps the answer to a preflight. */
const preflightSeconds = '3600'

/**
 * Lets pages of these origins read the answers (Fetch standard, CORS protocol). Without origins no answer changes. There are
 * no cookies, so no page acts for a user by this.
 */
export function allowOrigins(app: FastifyInstance, origins: readonly string[], methods: MethodIndex): void {
  if (origins.length === 0) return
  const allowed = new Set(origins)
  // Before the caller is known, so that a page can read every refusal.
  app.addHook('onRequest', async (request, reply) => {
    const { origin, 'access-control-request-method': asked } = request.headers
    if (origin === undefined || !allowed.has(origin)) return undefined
    reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': read })
    if (request.method !== 'OPTIONS' || asked === undefined) return undefined
    return reply
      .code(204)
      .headers({
        vary: 'origin',
        'access-control-allow-methods': methods.of(request.url).join(', '),
        'access-control-allow-headers': sent,
        'access-control-max-age': preflightSeconds,
      })
      .send()
  })
  app.addHook('onSend', async (_, reply, payload) => {
    const varies = reply.getHeader('vary')
    if (varies !== 'origin') reply.header('vary', varies === undefined ? 'origin' : `${String(varies)}, origin`)
    return payload
  })
}

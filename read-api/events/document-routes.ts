import { asyncApiDocument } from '../../contracts/events/asyncapi.ts'
import { eventPage } from '../../contracts/events/event-pages.ts'
import { contractVersion } from '../../platform/http/common-headers.ts'
import { atFirstUse } from '../../platform/kit/at-first-use.ts'
import type { ServiceApp } from '../../platform/http/service.ts'

/** `/asyncapi.json` and the page `/docs/events`. Both never change, so each is made once, at its first use. */
export function eventDocumentRoutes(app: ServiceApp): void {
  const config = { access: 'public' } as const
  const document = atFirstUse(() => JSON.stringify(asyncApiDocument(contractVersion)))
  const page = atFirstUse(eventPage)
  app.get('/asyncapi.json', { schema: { hide: true }, config }, async (_, reply) => {
    reply.header('cache-control', 'public, max-age=60')
    return reply.type('application/json; charset=utf-8').send(document())
  })
  app.get('/docs/events', { schema: { hide: true }, config }, async (_, reply) => {
    reply.header('cache-control', 'public, max-age=60')
    reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    return reply.type('text/html; charset=utf-8').send(page())
  })
}

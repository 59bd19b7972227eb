import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

/** Every scope that some route asks for, as its own description; filled while the routes are registered. */
export type ScopeList = Record<string, string>

/** `/openapi.json` (3.1, schemas under their own names, each route once) and the interactive page at `/docs`. */
export async function addDocumentation(app: FastifyInstance, { baseUrl, version, scopes }: { readonly baseUrl: string; readonly version: string; readonly scopes: ScopeList }): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Clinical Assessment Platform', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      servers: [{ url: baseUrl }],
      components: {
        securitySchemes: {
          token: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: `${baseUrl}/v1/auth/oauth/token`, scopes } } },
          actorContext: { type: 'apiKey', in: 'header', name: 'X-Actor-Context' },
          adminSecret: { type: 'apiKey', in: 'header', name: 'X-Admin-Api-Secret' },
        },
      },
    },
    refResolver: { buildLocalReference: (json, _, __, index) => (typeof json['$id'] === 'string' ? json['$id'] : `schema-${index}`) },
  })
  await app.register(swaggerUi, { routePrefix: '/docs', staticCSP: true, uiConfig: { deepLinking: true } })
  app.get('/openapi.json', { schema: { hide: true }, config: { access: 'public' } }, async (_, reply) => {
    reply.header('cache-control', 'public, max-age=60')
    return app.swagger()
  })
}

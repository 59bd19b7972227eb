import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { asDocumented } from './documented.ts'

/** Every scope that a route requires, as its own description. Filled while the routes are registered. */
export type ScopeList = Record<string, string>

/** Marks a route's schema whose body is optional. A Fastify schema cannot express this. */
export const bodyMayLack = 'x-body-may-lack'

const everyAnswer =
  'Every answer has X-Request-Id, traceparent, API-Version and Cache-Control. Answers to a client also have RateLimit and RateLimit-Policy.'
const everyBody =
  'A body is refused if a number in it cannot be stored without loss: a whole number beyond 2^53, a decimal with more digits than a double holds, or -0. Send such a number as text.'

/** `/openapi.json` (3.1, schemas under their own names, each route once) and the interactive page at `/docs`. */
export async function addDocumentation(
  app: FastifyInstance,
  { baseUrl, version, scopes }: { readonly baseUrl: string; readonly version: string; readonly scopes: ScopeList },
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Clinical Assessment Platform',
        version,
        description: `${everyAnswer} ${everyBody}`,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: baseUrl }],
      components: {
        securitySchemes: {
          token: {
            type: 'oauth2',
            flows: { clientCredentials: { tokenUrl: `${baseUrl}/v1/auth/oauth/token`, scopes } },
          },
          actorContext: { type: 'apiKey', in: 'header', name: 'X-Actor-Context' },
          adminSecret: { type: 'apiKey', in: 'header', name: 'X-Admin-Api-Secret' },
        },
      },
    },
    transformObject: (made) => {
      const { paths = {}, ...document } = 'openapiObject' in made ? made.openapiObject : {}
      const shown = Object.entries(paths).map(([path, operations]) => [path, withOptionalBodies(operations ?? {})])
      return Object(asDocumented({ ...document, paths: Object.fromEntries(shown) })) as typeof document
    },
    refResolver: {
      buildLocalReference: (json, _, __, index) => (typeof json['$id'] === 'string' ? json['$id'] : `schema-${index}`),
    },
  })
  const texts = documentTexts(app)
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    uiConfig: { deepLinking: true },
    uiHooks: {
      // In place of handlers that serialise the document for each request.
      preHandler: (request, reply, next) => {
        const { url } = request.routeOptions
        if (url === '/docs/json') void reply.type('application/json; charset=utf-8').send(texts.json())
        else if (url === '/docs/yaml') void reply.type('application/x-yaml').send(texts.yaml())
        else next()
      },
    },
  })
  app.get('/openapi.json', { schema: { hide: true }, config: { access: 'public' } }, async (_, reply) => {
    reply.header('cache-control', 'public, max-age=60')
    return reply.type('application/json; charset=utf-8').send(texts.json())
  })
}

/** The document never changes, so each form is serialised once, at its first use. */
function documentTexts(app: FastifyInstance) {
  let json: Buffer | undefined
  let yaml: Buffer | undefined
  return {
    json: () => (json ??= Buffer.from(JSON.stringify(app.swagger()))),
    yaml: () => (yaml ??= Buffer.from(app.swagger({ yaml: true }))),
  }
}

function withOptionalBodies(operations: object): object {
  const all: readonly [string, unknown][] = Object.entries(operations)
  return Object.fromEntries(
    all.map(([method, operation]) => [
      method,
      typeof operation === 'object' && operation !== null && bodyMayLack in operation
        ? withOptionalBody(operation)
        : operation,
    ]),
  )
}

function withOptionalBody({
  [bodyMayLack]: _,
  ...operation
}: {
  readonly [bodyMayLack]: unknown
  readonly requestBody?: unknown
}): object {
  return { ...operation, requestBody: { ...(Object(operation.requestBody) as object), required: false } }
}

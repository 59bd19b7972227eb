import { createServer } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Configuration } from '../configuration/configuration.ts'
import type { Health } from '../observability/health.ts'
import type { LogFields, Logger } from '../observability/logging.ts'
import type { Metrics } from '../observability/metrics.ts'
import { closeGently } from '../kit/early-answers.ts'
import { noTracer, type Tracer } from '../kit/tracing.ts'
import { problem, type Problem } from './problems.ts'
import { createAuthorization, type Access, type Caller, type SecretUse, type VerifyToken } from './access.ts'
import type { ActorReader } from './actor-readers.ts'
import { addBodyParsers } from './body-parsers.ts'
import { createClientErrorHandler, createExpectationHandler } from './client-errors.ts'
import { requireClearHead } from './clear-head.ts'
import { commonHeaders, contractVersion } from './common-headers.ts'
import { consoleHeaders } from './console-headers.ts'
import { limitConnections } from './connection-limits.ts'
import { allowOrigins } from './cross-origin.ts'
import { addDocumentation, type ScopeList } from './documentation.ts'
import { createErrorHandler, sendProblem, type TranslateError } from './errors.ts'
import { isUuid } from './formats.ts'
import { addHealthRoutes } from './health-routes.ts'
import { addMetricsRoutes } from './metrics-routes.ts'
import type { IsCurrent } from './missing-records.ts'
import { oneAtATime } from './pipelined-requests.ts'
import { addProblemPages } from './problem-pages.ts'
import { createRateLimits } from './rate-limits.ts'
import { awaitMinimumPosition, type ReadYourWrites } from './replies.ts'
import { requestIdFrom, traceIdOf, traceparentFrom } from './request-context.ts'
import { createMethodIndex } from './route-methods.ts'
import { createSchemas, type Schemas } from './schemas.ts'
import { mountService, type Service } from './service.ts'
import type { AccessLog, IsErased } from './shown-content.ts'
import { addTracing } from './tracing.ts'
import { createWaiting } from './waiting.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The documented mount of this route's service, for Location and Link. */
    documentedBase: string
  }
}

export interface ApplicationOptions {
  readonly configuration: Configuration
  readonly logger: Logger
  readonly services: readonly Service[]
  readonly health: Health
  readonly metrics: Metrics
  readonly verifyToken: VerifyToken
  readonly actors: ActorReader
  readonly translateError: TranslateError
  /** A hash with a key of the installation. It replaces a text that must not be stored unencrypted. */
  readonly pseudonymOf: (text: string) => string
  /** Before a request with the administrator secret takes effect. Default: nothing (tests). */
  readonly onAdministratorSecret?: (use: SecretUse) => Promise<void>
  readonly readYourWrites: ReadYourWrites
  /** Contains each access before its answer leaves. Default: none (tests). */
  readonly accessLog?: AccessLog
  /** Default: none. */
  readonly console?: Console | undefined
  /** Default: nobody is. */
  readonly isErased?: IsErased
  /** Called before a GET answers that a record does not exist. Default: always true (tests). */
  readonly isCurrent?: IsCurrent
  /** True once the stop has started. New requests are refused while running ones finish. */
  readonly isStopping?: () => boolean
  /** Turns answers that differ from their documented schema into a 500 (tests). */
  readonly checkReplies?: boolean
  /** Milliseconds of a monotonic clock, for rate limits. */
  readonly clockMs?: () => number
  /** Default: none. */
  readonly tracer?: Tracer
  /** Semantic version of the contract, sent as API-Version. */
  readonly version?: string
}

/** The pages for operators below `/console`. */
export interface Console {
  /** Their data: these services, as they answer the person of a session. */
  readonly services: readonly Service[]
  /** @throws Problem `session-missing`, `csrf-refused` */
  readonly personOf: (request: FastifyRequest) => Promise<Caller>
  /** Adds the pages, and the routes of the session. */
  readonly addPages: (app: FastifyInstance) => void
}

/** Bytes of a form, and of any body at a route without access control. */
export const strangersBodyLimit = 16 * 1024
/** Bytes of a JSON body. */
export const defaultBodyLimit = 1024 * 1024
/** Limit of a JSON body with the images of an assessment. The images are extracted while the body arrives. */
export const assessmentBodyLimit = 64 * 1024 * 1024

/** UTF-16 units of a parameter of a path. A schema allows up to 255 characters, and a character has up to two. */
export const longestParameter = 2 * 255

/** The HTTP side of the platform: all services at all mounts, ready to listen. */
export async function createApplication(options: ApplicationOptions): Promise<FastifyInstance> {
  const { configuration, logger, services, isStopping = () => false } = options
  const version = options.version ?? contractVersion
  const schemas = createSchemas()
  const methods = createMethodIndex()
  const onError = createErrorHandler(logger, options.translateError)
  const app = Fastify({
    logger: false,
    trustProxy: configuration.trustedProxies.length > 0 && [...configuration.trustedProxies],
    genReqId: (request) => requestIdFrom(request.headers['x-request-id']),
    requestIdHeader: false,
    return503OnClosing: false,
    // A longer parameter names nothing: the answer is 404.
    routerOptions: { maxParamLength: longestParameter },
    forceCloseConnections: 'idle',
    serverFactory: (handle) =>
      createServer(
        {
          requestTimeout: 120_000,
          headersTimeout: 20_000,
          keepAliveTimeout: 72_000,
          connectionsCheckingInterval: 5_000,
          // Node.js answers a request without Host itself and without a body. `requireClearHead` refuses it instead.
          requireHostHeader: false,
        },
        oneAtATime(handle),
      ),
    clientErrorHandler: createClientErrorHandler(version),
    // An undecodable address is refused before the hooks that set the common headers.
    frameworkErrors: (error, request, reply) => {
      reply.headers({
        ...commonHeaders({
          requestId: request.id,
          traceparent: traceparentFrom(request.headers['traceparent']),
          version,
        }),
        ...consoleHeaders(request.url),
      })
      onError(error, request, reply)
    },
    schemaController: {
      bucket: () => schemas.bucket,
      // Otherwise fastify loads its own compilers, although others replace them below.
      compilersFactory: { buildValidator: noOtherCompiler, buildSerializer: noOtherCompiler },
    },
  })
  app.server.on('checkExpectation', createExpectationHandler(version))
  limitConnections(app.server, configuration, logger)
  app.setValidatorCompiler(schemas.compileValidator)
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler(onError)
  app.decorate('readYourWrites', options.readYourWrites)
  app.decorate('isCurrent', options.isCurrent ?? (async () => true))
  app.decorate('isErased', options.isErased ?? (() => false))
  app.decorate('accessLog', options.accessLog ?? { record: async () => undefined })
  app.decorate('readYourWritesMs', configuration.readYourWritesMs)
  app.decorate('waiting', createWaiting({ isStopping }))
  app.decorate(
    'rateLimits',
    createRateLimits({ configuration, ...(options.clockMs === undefined ? {} : { now: options.clockMs }) }),
  )
  for (const name of ['caller', 'documentedBase', 'sentNames', 'shown'] as const) app.decorateRequest(name)
  const scopes: ScopeList = {}
  app.addHook('onRoute', ({ url, method, config }) => {
    methods.add(url, method)
    const access = config?.access
    for (const scope of scopesOf(access)) scopes[scope] = scope
  })
  addBodyParsers(app, ({ access, form }) =>
    access === 'public' || form !== undefined ? strangersBodyLimit : defaultBodyLimit,
  )
  allowOrigins(app, configuration.corsOrigins, methods)
  addTracing(app, options.tracer ?? noTracer)
  addRequestHooks(app, options, version)
  if (options.checkReplies === true) addReplyCheck(app, schemas)
  // Runs before the body is read: for an unknown address, the type and form of the body do not matter.
  app.addHook('onRequest', async (request) => {
    if (request.is404) throw absent(methods.of(request.url), request.method)
  })
  app.setNotFoundHandler((request, reply) =>
    sendProblem(reply, absent(methods.of(request.url), request.method), request.id),
  )

  await addDocumentation(app, { baseUrl: configuration.baseUrl, version, scopes })
  const prefixes = services.map(({ prefix }) => prefix)
  addHealthRoutes(app, schemas, options.health, prefixes, isStopping)
  // With a port of their own, the figures are nowhere else.
  if (options.configuration.metricsPort === undefined) addMetricsRoutes(app, schemas, options.metrics, prefixes)
  addProblemPages(app, schemas)
  for (const service of services) await mountService(app, service, schemas)
  if (options.console !== undefined) {
    options.console.addPages(app)
    for (const service of options.console.services) await mountService(app, service, schemas)
  }
  return app
}

function noOtherCompiler(): never {
  throw new Error('the application has set its compilers')
}

/** @param allow the methods of the address */
function absent(allow: readonly string[], method: string): Problem {
  return allow.length === 0 || allow.includes(method)
    ? problem('not-found')
    : problem('method-not-allowed', { headers: { allow: allow.join(', ') } })
}

function scopesOf(access: Access | undefined): readonly string[] {
  if (typeof access !== 'object') return []
  if ('admin' in access) return [access.orScope, access.orPlatformScope].filter((scope) => scope !== undefined)
  return 'scopes' in access ? access.scopes : [access.consentScope]
}

function addReplyCheck(app: FastifyInstance, schemas: Schemas): void {
  app.addHook('preSerialization', async (request, reply, payload) => {
    const documented: unknown = request.routeOptions.schema?.response
    const byStatus = new Map<string, unknown>(Object.entries(documented ?? {}))
    const schema = byStatus.get(String(reply.statusCode === 304 ? 200 : reply.statusCode))
    if (typeof schema !== 'object' || schema === null || 'content' in schema) return payload
    const wrong = schemas.replyErrors(schema, JSON.parse(JSON.stringify(payload)))
    if (wrong.length > 0) throw new UndocumentedReplyError(wrong)
    return payload
  })
}

/** An answer that its OpenAPI schema does not allow. The message contains places and rules only. */
class UndocumentedReplyError extends Error {
  override readonly name = 'UndocumentedReplyError'
  readonly isSafeToLog = true

  constructor(wrong: readonly string[]) {
    super(`the answer is not as documented: ${wrong.slice(0, 10).join(', ')}`)
  }
}

/** `Deprecation` (RFC 9745) and `Sunset` (RFC 8594). */
function deprecationHeaders({ since, sunset }: { readonly since: Date; readonly sunset: Date }) {
  return { deprecation: `@${Math.floor(since.getTime() / 1_000)}`, sunset: sunset.toUTCString() }
}

function addRequestHooks(app: FastifyInstance, options: ApplicationOptions, version: string): void {
  const authorize = createAuthorization({ ...options, personOf: options.console?.personOf })
  app.decorate('authorize', async (request) =>
    authorize(request, request.is404 ? 'public' : (request.routeOptions.config.access ?? 'public')),
  )
  app.addHook('onRequest', async (request, reply) => {
    const { config } = request.routeOptions
    request.documentedBase = config.documentedBase ?? ''
    reply.headers({
      ...commonHeaders({ requestId: request.id, traceparent: request.traceparent, version }),
      ...consoleHeaders(request.url),
    })
    if (config.deprecation !== undefined) reply.headers(deprecationHeaders(config.deprecation))
    requireClearHead(request.raw)
    if (options.isStopping?.() === true && config.route !== undefined) throw problem('shutting-down')
    request.caller = await app.authorize(request)
    app.rateLimits.admit(request, reply, request.caller)
  })
  app.addHook('preValidation', async ({ params, query }) => {
    // Neither Postgres nor a stream name can hold U+0000, and no id or filter contains it.
    if (holdsNull(params)) throw problem('not-found')
    if (holdsNull(query)) throw problem('validation-failed', { detail: 'The query contains the character U+0000.' })
  })
  app.addHook('preHandler', async (request, reply) => {
    const { servedBy } = request.routeOptions.config
    if (servedBy !== undefined) await awaitMinimumPosition(reply, servedBy)
  })
  app.addHook('onSend', async (request, reply, payload) => {
    // A connection that stays open for more requests would delay the stop.
    if (options.isStopping?.() === true) reply.header('connection', 'close')
    closeGently(reply.raw)
    if (reply.statusCode !== 304) return payload
    reply.removeHeader('content-type')
    return null
  })
  app.addHook('onResponse', async (request, reply) => {
    const { caller, method } = request
    const { url: route = 'unknown', config } = request.routeOptions
    const { statusCode: status, elapsedTime: durationMs } = reply
    if (config.isForMonitoring !== true)
      options.metrics.count({ method, route: config.documentedPath ?? route, status, durationMs })
    // Monitoring repeats these requests all the time.
    options.logger[config.isForMonitoring === true ? 'debug' : 'info'](
      {
        method,
        route,
        status,
        durationMs: Math.round(durationMs),
        requestId: request.id,
        correlationId: request.correlationId,
        traceId: traceIdOf(request.traceparent),
        ...(caller === undefined ? {} : describeCaller(caller)),
      },
      'request',
    )
  })
}

/** For the audit of actor contexts. An id that is no UUID may be an e-mail address, so it is not logged. */
function describeCaller({ clientId, orgId, actor }: Caller): LogFields {
  return {
    clientId,
    ...(orgId === null ? {} : { orgId }),
    ...(actor === null ? {} : { actor: isUuid(actor.userId) ? actor.userId : 'unnamed' }),
  }
}

function holdsNull(values: unknown): boolean {
  return Object.values(values ?? {}).some((value) => typeof value === 'string' && value.includes('\0'))
}

import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifySchema,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteOptions,
} from 'fastify'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { Access } from './access.ts'
import { withStandardAnswers } from './answers.ts'
import { bodyMayLack } from './documentation.ts'
import { certainOfAbsence } from './missing-records.ts'
import { requestHeaders } from './request-headers.ts'
import { withResponseHeaders } from './response-headers.ts'
import type { Schemas } from './schemas.ts'
import { recordShown, requireKnownPurpose, requireNamedPersons } from './shown-content.ts'

/** Where a service's routes are registered: fastify with types from TypeBox schemas. Paths are below the mount. */
export type ServiceApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

export type ServicePrefix =
  | 'auth'
  | 'clinical-api'
  | 'orchestrator'
  | 'ai-review'
  | 'human-review'
  | 'consent'
  | 'user-management'
  | 'notifications'
  | 'events'
  | 'audit'
  | 'operations'

type Mount = 'prefixed' | 'gateway' | 'bare' | 'console'

/** One service: one route table, served at up to three mounts. */
export interface Service {
  readonly prefix: ServicePrefix
  /** The mount whose paths the specification writes: `/v1/<prefix>/…` or bare `/v1/…`. Location and OpenAPI use it. */
  readonly documentedAt: 'prefixed' | 'bare'
  /** `/v1/<prefix>`, `/v1/<prefix>/v1` and `/v1` when omitted. `console`: for the person of a session. */
  readonly mounts?: readonly Mount[]
  routes(app: ServiceApp): void
  /** Routes whose address a standard fixes: below the host, and not below a mount. */
  wellKnownRoutes?(app: ServiceApp): void
}

/** Which route a request met, whatever the mount. */
interface RouteIdentity {
  readonly service: ServicePrefix
  /** Path below the mount, with parameter names. */
  readonly path: string
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** Takes form data instead of JSON. `ignored`: of any kind, and nobody reads it. */
    form?: true | 'ignored'
    /** `oauth`: refusals of the input have the body of RFC 6749. */
    errors?: 'oauth'
    /** Projectors whose tables a GET answers from: X-Min-Commit-Position waits for them. */
    servedBy?: readonly string[]
    /** The answer has an ETag; a GET answers with `found`, and 304 to whoever has that version. */
    hasEtag?: boolean
    /** The write honours If-Match with `requireMatch`. */
    takesIfMatch?: boolean
    /** The POST answers and changes nothing: there is no place of a write to name, and nothing to repeat. */
    changesNothing?: boolean
    /** The route takes no body as an empty one; what its schema names may be left out. */
    mayLackBody?: boolean
    /** The route holds its answer back for `Prefer: wait=N` (`waiting.ts`). */
    takesWait?: boolean
    /** The route is deprecated since an instant, and answers until another one at least. */
    deprecation?: { readonly since: Date; readonly sunset: Date }
    /** Set by the platform: the caller is the person of a session of the console. Other headers of identity do not count. */
    isForConsole?: boolean
    /** Set by the platform. */
    route?: RouteIdentity
    /** Set by the platform: the mount that Location and Link headers use. */
    documentedBase?: string
    /** Set by the platform: the route's template at its documented mount, equal for all mounts. */
    documentedPath?: string
  }
}

const apiMounts: readonly Mount[] = ['prefixed', 'gateway', 'bare']

export async function mountService(app: FastifyInstance, service: Service, schemas: Schemas): Promise<void> {
  const described: DescribedRoutes = new Map()
  for (const mount of service.mounts ?? apiMounts) {
    await app.register(
      named(`${service.prefix}, ${mount}`, async (scope) => {
        scope.addHook('onRoute', (route) => prepareRoute(route, service, mount, schemas, described))
        service.routes(scope.withTypeProvider<TypeBoxTypeProvider>())
      }),
      { prefix: pathOf(service, mount) },
    )
  }
  if (service.wellKnownRoutes === undefined) return
  await app.register(
    named(`${service.prefix}, well-known`, async (scope) => {
      scope.addHook('onRoute', (route) => prepareRoute(route, service, service.documentedAt, schemas, new Map()))
      service.wellKnownRoutes?.(scope.withTypeProvider<TypeBoxTypeProvider>())
    }),
  )
}

/** Without a name, fastify looks for it among all modules of the process. */
function named<Plugin extends object>(name: string, plugin: Plugin): Plugin {
  return Object.assign(plugin, { [Symbol.for('fastify.display-name')]: name })
}

/** Below `/console/api` the paths are the documented ones. */
function pathOf(service: Pick<Service, 'prefix' | 'documentedAt'>, mount: Mount): string {
  if (mount === 'console') return `/console/api${pathOf(service, service.documentedAt)}`
  return { prefixed: `/v1/${service.prefix}`, gateway: `/v1/${service.prefix}/v1`, bare: '/v1' }[mount]
}

type PreparedRoute = RouteOptions & { routePath: string; path: string; prefix: string }

/** The schemas of a service's routes by method and path. All mounts share them. */
type DescribedRoutes = Map<string, FastifySchema>

/** Each route says who may call it, is documented once, and shares its schemas with the other mounts. */
function prepareRoute(
  route: PreparedRoute,
  service: Service,
  mount: Mount,
  schemas: Schemas,
  described: DescribedRoutes,
): void {
  const access = route.config?.access
  if (access === undefined)
    throw new Error(`${String(route.method)} ${route.url} does not say who may call it (config.access)`)
  const isRead = [route.method].flat().every((method) => method === 'GET' || method === 'HEAD')
  // A route of HEAD has the schema of its GET.
  const key = `${isRead ? 'GET' : String(route.method)} ${route.routePath}`
  const schema = described.get(key) ?? describedSchema(route, access, isRead, service, schemas)
  described.set(key, schema)
  route.schema = { ...schema, hide: mount !== service.documentedAt || route.schema?.hide === true }
  if (route.config?.showsPersonal === true) {
    route.preHandler = [requireKnownPurpose, ...[route.preHandler ?? []].flat()]
    route.onSend = recordShown
  }
  const servedBy = route.config?.servedBy
  if (isRead && servedBy !== undefined) route.handler = certainOfAbsence(route.handler, servedBy)
  const documentedBase = pathOf(service, mount === 'console' ? mount : service.documentedAt)
  route.config = {
    ...route.config,
    ...(mount === 'console' ? { isForConsole: true } : {}),
    route: { service: service.prefix, path: route.routePath },
    documentedBase,
    documentedPath: route.prefix === '' ? route.url : `${documentedBase}${route.routePath}`,
  }
}

function describedSchema(
  { schema: given, method, url, config = {} }: PreparedRoute,
  access: Access,
  isRead: boolean,
  { prefix }: Service,
  schemas: Schemas,
): FastifySchema {
  const isKeyed = method === 'POST' && access !== 'public'
  requireNamedPersons(url, given ?? {}, config.showsPersonal)
  const own = {
    tags: [prefix],
    ...requestHeaders({ isKeyed, isRead, config }),
    ...given,
    ...descriptionWithScope(access, given?.description),
    security: securityOf(access),
    ...(config.deprecation === undefined ? {} : { deprecated: true }),
  }
  const schema = schemas.hoist(withStandardAnswers(own, { access, isRead, config }))
  const isWrite = !isRead && access !== 'public' && config.changesNothing !== true
  return {
    ...withResponseHeaders(schema, { isWrite, isKeyed, config }),
    ...(config.mayLackBody === true ? { [bodyMayLack]: true } : {}),
  }
}

/** OpenAPI has no scope that only some organisations need, or that counts for some clients only: the description names it. */
function descriptionWithScope(access: Access, description: string | undefined): { readonly description?: string } {
  const needed = neededScope(access)
  return needed === undefined ? {} : { description: description === undefined ? needed : `${description} ${needed}` }
}

function neededScope(access: Access): string | undefined {
  if (typeof access !== 'object') return undefined
  if ('scopes' in access && access.alsoOfActor === true) return 'An actor needs the permission of the same name too.'
  if ('consentScope' in access)
    return `Any platform token; one with \`${access.consentScope}\` where \`CONSENT_SCOPES_REQUIRED\` names the organisation.`
  return 'admin' in access && access.orPlatformScope !== undefined
    ? `The scope \`${access.orPlatformScope}\` counts for platform clients only.`
    : undefined
}

function securityOf(access: Access): Record<string, string[]>[] {
  if (access === 'public') return []
  if (access === 'actor') return [{ token: [], actorContext: [] }]
  if (access === 'token' || (typeof access === 'object' && 'consentScope' in access)) return [{ token: [] }]
  if ('scopes' in access) {
    const { scopes, permission } = access
    return [{ token: [...scopes], ...(permission === undefined ? {} : { actorContext: [] }) }]
  }
  const { orScope, orPlatformScope } = access
  const byScope = [orScope, orPlatformScope].flatMap((scope) => (scope === undefined ? [] : [{ token: [scope] }]))
  return [...byScope, { token: [], actorContext: [] }, { adminSecret: [] }]
}

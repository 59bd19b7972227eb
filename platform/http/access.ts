import type { FastifyRequest } from 'fastify'
import type { Configuration } from '../configuration/configuration.ts'
import type { Logger } from '../observability/logging.ts'
import { problem, type Problem, type ProblemDetails } from './problems.ts'
import { areEqualSecrets } from '../kit/sealed-bytes.ts'
import { noOrganisation, tenantOfFact, type TenantId } from '../kit/tenants.ts'
import type { ActorContext } from './actor-context.ts'
import type { ActorReader } from './actor-readers.ts'
import { isUuid } from './formats.ts'
import { TokenRejectedError, type VerifiedToken } from './tokens.ts'

/**
 * Who may call a route:
 * - anybody;
 * - any valid access token;
 * - any valid access token with an actor;
 * - a token with all of the scopes (a write scope includes its read scope), and with an actor who has the permission, if
 *   the route names one, or the permissions that are named like the scopes;
 * - a token that needs the scope only for organisations in `CONSENT_SCOPES_REQUIRED`;
 * - an actor with the permission (X-Actor-Context, or X-Admin-Api-Secret alone), or a token with the scope `orScope`, or
 *   a token without organisation with the scope `orPlatformScope`.
 */
export type Access =
  | 'public'
  | 'token'
  | 'actor'
  | {
      readonly scopes: readonly [string, ...string[]]
      readonly permission?: string
      /** An actor, if there is one, needs the permissions of the same names too. */
      readonly alsoOfActor?: true
      /** A parameter of the path. `<scope>:<its value>` is enough instead of the scopes. */
      readonly orScopeOf?: string
    }
  | { readonly consentScope: 'consents:read' | 'consents:write' }
  | AdminAccess

export interface AdminAccess {
  readonly admin: string
  /** A token with this scope is enough, too. */
  readonly orScope?: string
  /** So is a token of a platform client with this scope. */
  readonly orPlatformScope?: string
}

export interface Caller {
  readonly clientId: string
  /** Null for platform clients. They must name an organisation in the request. */
  readonly orgId: string | null
  readonly productId: string | null
  readonly scopes: ReadonlySet<string>
  readonly trustedActorContext: boolean
  readonly actor: Actor | null
  /** Admitted by X-Admin-Api-Secret. */
  readonly isBootstrapAdmin: boolean
}

export interface Actor extends ActorContext {
  /**
   * Stands for the user in event metadata, which every reader of the event store can read unencrypted. The user id if
   * it is a UUID, else a keyed hash, because products may use e-mail addresses as user ids.
   */
  readonly auditId: string
}

/** User id of the acting person, else the client id, else `bootstrap`. */
export function changedByOf({ actor, clientId }: Caller): string {
  return actor?.auditId ?? clientId
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The caller of a request, if it may call its route now. Rejects with a problem. */
    authorize: (request: FastifyRequest) => Promise<Caller>
  }
  interface FastifyRequest {
    caller: Caller
  }
}

export type VerifyToken = (token: string) => Promise<VerifiedToken>

export interface AccessOptions {
  readonly configuration: Pick<Configuration, 'adminApiSecret' | 'consentScopesRequired'>
  readonly actors: ActorReader
  readonly verifyToken: VerifyToken
  /** A hash with a key of the installation. */
  readonly pseudonymOf: (text: string) => string
  readonly logger: Logger
  /** The person of the session of a request to the console. Rejects with a problem. Default: there is no console. */
  readonly personOf?: ((request: FastifyRequest) => Promise<Caller>) | undefined
  /** Records a use of the administrator secret before the request takes effect. Default: only the log has it (tests). */
  readonly onAdministratorSecret?: (use: SecretUse) => Promise<void>
}

export interface SecretUse {
  /** `GET /v1/auth/clients/:id` */
  readonly route: string
  readonly correlationId: string
}

/** Stands for the client of callers at the console. */
export const consoleClient = 'console'

const nobody: Caller = {
  clientId: 'anonymous',
  orgId: null,
  productId: null,
  scopes: new Set(),
  trustedActorContext: false,
  actor: null,
  isBootstrapAdmin: false,
}
const bootstrapAdmin: Caller = { ...nobody, clientId: 'bootstrap', isBootstrapAdmin: true }

/**
 * Returns the check that runs before the body of a request is read. It resolves to the caller or rejects with a
 * problem.
 */
export function createAuthorization(options: AccessOptions) {
  const { configuration, actors, verifyToken, pseudonymOf, logger, personOf } = options
  return async (request: FastifyRequest, access: Access): Promise<Caller> => {
    if (access === 'public') return nobody
    if (typeof access === 'object' && 'admin' in access) return authorizeAdmin(request, access)
    const caller = await authenticate(request)
    if (access === 'token') return caller
    if (access === 'actor') requireActor(caller)
    else if ('scopes' in access) {
      const { scopes, orScopeOf } = access
      if (orScopeOf === undefined || !caller.scopes.has(`${scopes[0]}:${parameterOf(request, orScopeOf)}`))
        requireScopes(caller, scopes)
      if (access.alsoOfActor === true) requireOfActor(caller, scopes)
      if (access.permission !== undefined) requirePermission(caller, access.permission, false)
    } else if (organisationsOf(caller, request.query).some(needsConsentScope))
      requireScopes(caller, [access.consentScope])
    return caller
  }

  function needsConsentScope(orgId: string): boolean {
    const { consentScopesRequired: required } = configuration
    return required === 'all' || required.includes(orgId.toLowerCase())
  }

  async function authorizeAdmin(request: FastifyRequest, access: AdminAccess): Promise<Caller> {
    const { admin: permission, orScope } = access
    const secret = request.headers['x-admin-api-secret']
    if (secret !== undefined && request.routeOptions.config.isForConsole !== true) {
      const caller = await admitBySecret(request, secret)
      const admission = {
        actor: 'bootstrap',
        sourceAddress: request.ip,
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? '',
      }
      logger.warn(
        { ...admission, ...(caller.orgId === null ? {} : { orgId: caller.orgId }) },
        'administrator secret used',
      )
      const { method, route } = admission
      await options.onAdministratorSecret?.({ route: `${method} ${route}`, correlationId: request.correlationId })
      return caller
    }
    const caller = await authenticate(request)
    if (administersByScope(caller, access)) return caller
    if (orScope !== undefined && caller.actor === null) requireScopes(caller, [orScope])
    requirePermission(caller, permission, true)
    return caller
  }

  /** The secret alone is enough. A token in addition is checked as usual, and only selects the organisation. */
  async function admitBySecret(request: FastifyRequest, secret: string | string[]): Promise<Caller> {
    const { adminApiSecret } = configuration
    const isRight =
      adminApiSecret !== undefined && typeof secret === 'string' && areEqualSecrets(secret, adminApiSecret)
    if (!isRight) {
      request.server.rateLimits.credentialsRefused(request)
      throw problem('admin-secret-invalid')
    }
    if (request.headers.authorization === undefined) return bootstrapAdmin
    const { orgId, productId } = await authenticate(request)
    return { ...bootstrapAdmin, orgId, productId }
  }

  async function authenticate(request: FastifyRequest): Promise<Caller> {
    if (request.routeOptions.config.isForConsole === true && personOf !== undefined) return personOf(request)
    const token = await verifyBearer(request)
    return {
      clientId: token.clientId,
      orgId: token.orgId,
      productId: token.productId,
      scopes: token.grantedScopes,
      trustedActorContext: token.trustedActorContext,
      actor: await actorOf(request, token),
      isBootstrapAdmin: false,
    }
  }

  async function verifyBearer(request: FastifyRequest): Promise<VerifiedToken> {
    const token = bearerOf(request)
    if (token === undefined)
      throw unauthorized(request.headers.authorization === undefined ? 'token-missing' : 'token-invalid')
    try {
      return await verifyToken(token)
    } catch (error) {
      if (error instanceof TokenRejectedError)
        throw unauthorized(error.reason === 'expired' ? 'token-expired' : 'token-invalid')
      throw error
    }
  }

  /** A context of another organisation is refused before its user is looked up. */
  async function actorOf(request: FastifyRequest, token: VerifiedToken): Promise<Actor | null> {
    const header = request.headers['x-actor-context']
    if (header === undefined) return null
    if (!token.trustedActorContext) throw problem('actor-context-not-accepted')
    if (typeof header !== 'string') throw problem('actor-context-invalid')
    const selected = actors.selected(header)
    const { userId, orgId } = selected
    if (token.orgId !== null && token.orgId.toLowerCase() !== orgId) throw problem('org-mismatch')
    const actor = await actors.read(header, selected)
    return { ...actor, auditId: isUuid(userId) ? userId.toLowerCase() : pseudonymOf(`actor\0${orgId}\0${userId}`) }
  }
}

/** Whether the scope of the token opens the route, whatever its actor. */
export function administersByScope({ scopes, orgId }: Caller, { orScope, orPlatformScope }: AdminAccess): boolean {
  const isHeld = (scope: string | undefined) => scope !== undefined && scopes.has(scope)
  return isHeld(orScope) || (orgId === null && isHeld(orPlatformScope))
}

/** The access token of a request (RFC 6750, 2.1). Undefined without one, and for a malformed header. */
export function bearerOf({ headers }: FastifyRequest): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(headers.authorization ?? '')?.[1]
}

function parameterOf({ params }: FastifyRequest, name: string): string {
  return typeof params === 'object' && params !== null ? String(Reflect.get(params, name)) : ''
}

function requireScopes(caller: Caller, required: readonly string[]): void {
  if (required.every((scope) => caller.scopes.has(scope))) return
  const challenge = `Bearer realm="clinical-assessment-platform", error="insufficient_scope", scope="${required.join(' ')}"`
  throw problem('insufficient-scope', {
    headers: { 'www-authenticate': challenge },
    extensions: { required_scopes: required },
  })
}

/** For content that needs more scopes than its route. An actor needs the permissions of the same names. */
export function requireGranted(caller: Caller, scopes: readonly string[]): void {
  requireScopes(caller, scopes)
  requireOfActor(caller, scopes)
}

function requireOfActor(caller: Caller, permissions: readonly string[]): void {
  if (caller.actor !== null) for (const permission of permissions) requirePermission(caller, permission, false)
}

/** The actor of a request to a route for actors. */
export function requireActor({ actor }: Caller): Actor {
  if (actor !== null) return actor
  throw problem('actor-context-missing', { detail: 'Send the X-Actor-Context header of the user.' })
}

function requirePermission({ actor }: Caller, permission: string, takesSecret: boolean): void {
  const required = { extensions: { required_permission: permission } }
  const actorOnly = { detail: 'Send the X-Actor-Context header of a user with the permission.' }
  if (actor === null) throw problem('actor-context-missing', { ...required, ...(takesSecret ? {} : actorOnly) })
  if (!actor.permissions.has(permission)) throw problem('permission-missing', required)
}

function unauthorized(code: 'token-missing' | 'token-invalid' | 'token-expired'): Problem {
  const error = code === 'token-missing' ? '' : ', error="invalid_token"'
  const details: ProblemDetails = {
    headers: { 'www-authenticate': `Bearer realm="clinical-assessment-platform"${error}` },
  }
  return problem(code, details)
}

/**
 * The organisation of the token or the actor, else the organisations in the query, which is not validated yet. Never
 * empty: a request without an organisation counts as one of an unknown organisation, and is refused later.
 */
function organisationsOf(caller: Caller, query: unknown): readonly string[] {
  const own = caller.orgId ?? caller.actor?.orgId
  if (own !== undefined) return [own]
  const members = new Map<string, unknown>(Object.entries(query ?? {}))
  const named = ['org_id', 'orgId'].flatMap((name) => members.get(name)).filter((value) => typeof value === 'string')
  return named.length === 0 ? [''] : named
}

/**
 * The organisation of the request. `named` is the organisation in the query or body. A token (or actor context) of an
 * organisation fixes it, and another name is a 404. Without one, a name is required (400 `org-required`).
 */
export function tenantOf(caller: Caller, named?: string): TenantId {
  const own = caller.orgId ?? caller.actor?.orgId
  if (own === undefined && named === undefined) throw problem('org-required')
  if (own !== undefined && named !== undefined && own.toLowerCase() !== named.toLowerCase()) throw problem('not-found')
  const orgId = (own ?? named ?? '').toLowerCase()
  // The nil UUID stands for no organisation.
  if (!isUuid(orgId) || orgId === noOrganisation) throw problem('not-found')
  return tenantOfFact(orgId)
}

import { createHash, generateKeyPairSync } from 'node:crypto'
import { Writable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { loadConfiguration, type Environment } from '../../../platform/configuration/configuration.ts'
import { createHealth, type Health } from '../../../platform/observability/health.ts'
import { answers } from '../../../platform/http/answers.ts'
import { tenantOf } from '../../../platform/http/access.ts'
import { createActorReader, type ActorReader, type ActorReaderOptions } from '../../../platform/http/actor-readers.ts'
import { problem } from '../../../platform/http/problems.ts'
import { createApplication } from '../../../platform/http/application.ts'
import { idempotencyOf, idempotentId } from '../../../platform/http/idempotency.ts'
import { answerWrite, found, requireMatch, type ReadYourWrites } from '../../../platform/http/replies.ts'
import { commandContext } from '../../../platform/http/request-context.ts'
import type { Service } from '../../../platform/http/service.ts'
import type { AccessLog, IsErased } from '../../../platform/http/shown-content.ts'
import type { IsCurrent } from '../../../platform/http/missing-records.ts'
import { createTokenIssuer, type TokenClaims, type TokenIssuer, type TokenKeys } from '../../../platform/http/tokens.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { createMetrics, type Metrics } from '../../../platform/observability/metrics.ts'
import { translateStageError } from '../../../app/stage-errors.ts'

export const orgA = '018f0000-0000-7000-8000-00000000000a'
export const orgB = '018f0000-0000-7000-8000-00000000000b'
export const thingId = '018f0000-0000-7000-8000-000000000001'
export const adminSecret = 'an-administrator-secret-of-40-characters'

export function newTokenKeys(kid = 'key-1'): TokenKeys {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const publicJwk = { ...publicKey.export({ format: 'jwk' }), kid, alg: 'EdDSA', use: 'sig' }
  return { signingKey: async () => ({ kid, privateKey, publicJwk }), publicKeys: async () => [publicJwk] }
}

export function newTokenIssuer(): TokenIssuer {
  return createTokenIssuer({
    keys: newTokenKeys(),
    issuer: 'https://platform.test/v1/auth',
    audience: 'https://platform.test',
    ttlSeconds: 3600,
  })
}

export const client: TokenClaims = {
  clientId: 'client-a',
  orgId: orgA,
  productId: null,
  scopes: ['things:write'],
  trustedActorContext: false,
  secretId: null,
  clientRevision: 0,
}

const ThingBody = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 20 }),
    count: Type.Optional(Type.Integer()),
    free: Type.Optional(Type.Unknown()),
  },
  { $id: 'ThingBody', additionalProperties: false },
)
const Thing = Type.Object(
  { id: Type.String(), name: Type.String(), note: Type.Optional(Type.String()) },
  { $id: 'Thing' },
)
const ThingParams = Type.Object({ id: Type.String({ format: 'uuid' }) })

/** One route for each kind of access, so tests reach every rule of the platform over HTTP. */
export const thingService: Service = {
  prefix: 'clinical-api',
  documentedAt: 'prefixed',
  routes(app) {
    app.post(
      '/things',
      {
        schema: {
          operationId: 'createThing',
          summary: 'Create',
          body: ThingBody,
          response: answers({ 201: Thing }, ['conflict']),
        },
        config: { access: { scopes: ['things:write'] } },
      },
      async (request, reply) => {
        const idempotency = idempotencyOf(request)
        const id = idempotency === null ? thingId : idempotentId(idempotency)
        const body = {
          id,
          name: request.body.name,
          note: JSON.stringify(commandContext(request, { orgId: tenantOf(request.caller) })),
        }
        return answerWrite(reply, {
          status: 201,
          location: `/things/${id}`,
          body,
          position: { commit: 7n, prepare: 7n },
          readBy: [{ name: 'things', version: 1 }],
          revision: 0n,
          isReplayed: false,
        })
      },
    )
    app.put(
      '/things/:id',
      {
        schema: {
          operationId: 'putThing',
          summary: 'Change',
          params: ThingParams,
          body: ThingBody,
          response: answers({ 200: Thing }, ['precondition-failed']),
        },
        config: { access: { scopes: ['things:write'] } },
      },
      async (request, reply) => {
        requireMatch(request, 3n)
        return answerWrite(reply, {
          status: 200,
          position: undefined,
          body: { id: request.params.id, name: idempotencyOf(request)?.scopeId ?? 'no key' },
          readBy: [{ name: 'things', version: 1 }],
          revision: 3n,
          isReplayed: true,
        })
      },
    )
    app.get(
      '/things/:id',
      {
        schema: {
          operationId: 'getThing',
          summary: 'One',
          params: ThingParams,
          querystring: Type.Object({
            limit: Type.Optional(Type.Integer({ minimum: 1 })),
            org_id: Type.Optional(Type.String()),
          }),
          response: answers({ 200: Thing }),
        },
        config: { access: { scopes: ['things:read'] }, servedBy: ['things'], hasEtag: true },
      },
      async (request, reply) => {
        const orgId = tenantOf(request.caller, request.query.org_id)
        return found(reply, {
          body: { id: request.params.id, name: `${orgId} ${typeof request.query.limit}` },
          revision: 3n,
          variant: 44,
        })
      },
    )
    app.get(
      '/whoami',
      {
        schema: { operationId: 'whoami', summary: 'Caller', response: answers({ 200: Thing }) },
        config: { access: 'token' },
      },
      (request) => ({ id: request.caller.clientId, name: request.caller.actor?.userId ?? 'nobody' }),
    )
    app.get(
      '/permits',
      {
        schema: { operationId: 'readPermit', summary: 'Consent', response: answers({ 200: Thing }) },
        config: { access: { consentScope: 'consents:read' } },
      },
      (request) => ({ id: request.caller.clientId, name: 'read' }),
    )
    app.post(
      '/permits',
      {
        schema: { operationId: 'writePermit', summary: 'Consent', response: answers({ 200: Thing }) },
        config: { access: { consentScope: 'consents:write' } },
      },
      (request) => ({ id: request.caller.clientId, name: 'written' }),
    )
    app.post(
      '/admin/things',
      {
        schema: { operationId: 'adminThing', summary: 'Admin', response: answers({ 200: Thing }) },
        config: { access: { admin: 'things:admin' } },
      },
      (request) => ({
        id: request.caller.clientId,
        name: tenantOf(request.caller, orgA),
        note: String(request.caller.isBootstrapAdmin),
      }),
    )
    app.post(
      '/form',
      {
        schema: {
          operationId: 'form',
          summary: 'Form',
          body: Type.Object({ grant: Type.String() }, { $id: 'FormBody', additionalProperties: false }),
          response: answers({ 200: Thing }),
        },
        config: { access: 'public', form: true, errors: 'oauth' },
      },
      (request) => ({ id: 'form', name: request.body.grant }),
    )
    app.get(
      '/broken',
      {
        schema: { operationId: 'broken', summary: 'Fails', response: answers({ 200: Thing }) },
        config: { access: 'public' },
      },
      async () => {
        throw new Error('Jane Doe, born 1980-02-03, broke it')
      },
    )
  },
}

export interface TestApplication {
  readonly app: FastifyInstance
  readonly issuer: TokenIssuer
  readonly health: Health
  readonly metrics: Metrics
  readonly waits: { readonly position: unknown; readonly projectors: readonly string[]; readonly timeoutMs: number }[]
  readonly log: () => string
  token(claims?: Partial<TokenClaims>): Promise<{ authorization: string }>
}

export async function startApplication(
  options: {
    env?: Environment
    readYourWrites?: ReadYourWrites
    isCurrent?: IsCurrent
    isStopping?: () => boolean
    accessLog?: AccessLog
    services?: readonly Service[]
    checkReplies?: boolean
    clockMs?: () => number
    actors?: ActorReader
    resolve?: ActorReaderOptions['resolve']
    issuer?: TokenIssuer
    isErased?: IsErased
  } = {},
): Promise<TestApplication> {
  const configuration = loadConfiguration(options.env ?? {})
  const lines: string[] = []
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString())
      done()
    },
  })
  const logger = createLogger({ level: 'debug', destination })
  const issuer = options.issuer ?? newTokenIssuer()
  const health = createHealth({ profile: configuration.profile })
  const metrics = createMetrics({ health, ...(options.clockMs === undefined ? {} : { now: options.clockMs }) })
  const waits: TestApplication['waits'] = []
  const app = await createApplication({
    configuration,
    logger,
    health,
    metrics,
    services: options.services ?? [thingService],
    verifyToken: (token) => issuer.verify(token),
    actors:
      options.actors ??
      createActorReader({
        configuration,
        now: () => new Date(),
        ownKeys: async () => [],
        resolve: options.resolve ?? (() => Promise.reject(problem('actor-context-unavailable'))),
      }),
    translateError: translateStageError,
    pseudonymOf: (text) => createHash('sha256').update(text).digest('hex'),
    readYourWrites:
      options.readYourWrites ??
      (async (position, projectors, timeoutMs) => {
        waits.push({ position, projectors, timeoutMs })
        return { caughtUp: true }
      }),
    checkReplies: options.checkReplies ?? false,
    ...(options.clockMs === undefined ? {} : { clockMs: options.clockMs }),
    ...(options.isCurrent === undefined ? {} : { isCurrent: options.isCurrent }),
    ...(options.isStopping === undefined ? {} : { isStopping: options.isStopping }),
    ...(options.accessLog === undefined ? {} : { accessLog: options.accessLog }),
    ...(options.isErased === undefined ? {} : { isErased: options.isErased }),
  })
  return {
    app,
    issuer,
    health,
    metrics,
    waits,
    log: () => lines.join(''),
    token: async (claims = {}) => ({
      authorization: `Bearer ${(await issuer.issue({ ...client, ...claims })).access_token}`,
    }),
  }
}

import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { answers } from '../../platform/http/answers.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import { isUuid } from '../../platform/http/formats.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { TokenEndpointError, tokenEndpointError } from '../../platform/http/token-endpoint-errors.ts'
import type { TokenIssuer } from '../../platform/http/tokens.ts'
import { areEqualSecrets } from '../../platform/kit/sealed-bytes.ts'
import { liveSecrets, oauthClients, type RegisteredOauthClient } from '../../streams/oauth-client/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { useSecret } from './client-secrets.ts'
import { readCredentials, type ClientCredentials } from './credentials.ts'
import { isCovered } from './scopes.ts'

const TokenBody = Type.Object(
  {
    grant_type: Type.String({ maxLength: 255 }),
    client_id: Type.Optional(Type.String({ maxLength: 255 })),
    client_secret: Type.Optional(Type.String({ maxLength: 1024 })),
    scope: Type.Optional(Type.String({ maxLength: 4096 })),
  },
  // RFC 6749, 3.2: unknown parameters must be ignored. Clients send `audience`, for example.
  { $id: 'TokenBody', additionalProperties: true },
)

const TokenReply = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer({ description: 'Seconds' }),
    scope: Type.String({ description: 'Granted scopes, sorted, separated by spaces' }),
  },
  { $id: 'TokenReply' },
)

/** RFC 6749, 5.2, with the members of a problem document beside them. */
const TokenErrorReply = Type.Object(
  {
    error: Type.String(),
    error_description: Type.String(),
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
  },
  { $id: 'TokenErrorReply' },
)

const JsonWebKeySet = Type.Object(
  { keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) },
  { $id: 'JsonWebKeySet' },
)

export interface AuthDependencies extends CommandDependencies {
  readonly tokens: TokenIssuer
}

export function authRoutes(app: ServiceApp, { store, vault, tokens, now }: AuthDependencies): void {
  app.post(
    '/oauth/token',
    {
      schema: {
        operationId: 'issueToken',
        summary: 'Issue an access token (client credentials)',
        consumes: ['application/x-www-form-urlencoded'],
        body: TokenBody,
        response: answers({ 200: TokenReply, 400: TokenErrorReply, 401: TokenErrorReply, 415: TokenErrorReply }, [
          'quota-exceeded',
          'event-store-unavailable',
          'written-by-newer-version',
        ]),
      },
      config: { access: 'public', form: true, errors: 'oauth' },
    },
    async (request, reply) => {
      const { body } = request
      if (body.grant_type !== 'client_credentials') throw tokenEndpointError('unsupported_grant_type')
      const { client, secretId } = await admit(request, readCredentials(request.headers.authorization, body))
      app.rateLimits.admitToken(reply, client.clientId)
      const { clientId, orgId, productId, trustedActorContext } = client
      const scopes = grantedScopes(client, body.scope)
      const used = { secretId, now: now() }
      const context = { ...commandContext(request, { orgId: orgId ?? undefined }), clientId }
      await execute(store, oauthClients.of(clientId), (state) => useSecret(used, state), context)
      reply.header('pragma', 'no-cache')
      const issued = await tokens.issue({ clientId, orgId, productId, trustedActorContext, scopes })
      return reply.send(issued)
    },
  )

  app.get(
    '/.well-known/jwks.json',
    {
      schema: {
        operationId: 'getTokenKeys',
        summary: 'Keys that verify access tokens, actor contexts and consent receipts',
        description: 'Retired keys stay in the list, so that older signatures can always be verified.',
        response: answers({ 200: JsonWebKeySet }),
      },
      config: { access: 'public' },
    },
    async (_request, reply) => {
      const purposes = ['receipt', 'actor-context'] as const
      const others = await Promise.all(purposes.map((purpose) => vault.publicKeys(purpose)))
      const keys = [...(await tokens.jwks()).keys, ...others.flat()]
      reply.header('cache-control', 'public, max-age=300')
      return reply.send({ keys: keys.map((key) => ({ ...key })) })
    },
  )

  async function admit(request: FastifyRequest, credentials: ClientCredentials): Promise<AuthenticatedClient> {
    try {
      return await authenticate(credentials)
    } catch (error) {
      if (error instanceof TokenEndpointError) app.rateLimits.credentialsRefused(request)
      throw error
    }
  }

  /** An unknown client takes the same comparison, so the time of the answer shows nothing. */
  async function authenticate({ clientId, clientSecret }: ClientCredentials): Promise<AuthenticatedClient> {
    const id = clientId.toLowerCase()
    const state = isUuid(id) ? (await store.load(oauthClients.of(id))).state : oauthClients.initialState
    const secrets = state.status === 'active' ? liveSecrets(state, now()) : []
    const given = vault.fingerprint(clientSecret)
    const nobodys = vault.fingerprint('no such client')
    const matches = [0, 1].map((place) => areEqualSecrets(given, secrets[place]?.hash ?? nobodys))
    const right = secrets[matches.indexOf(true)]
    if (state.status !== 'active' || right === undefined) throw tokenEndpointError('invalid_client')
    return { client: state, secretId: right.secretId }
  }
}

interface AuthenticatedClient {
  readonly client: RegisteredOauthClient
  readonly secretId: string
}

/** All scopes of the client unless it asks for some; one that is unknown, repeated or not its own is refused. */
function grantedScopes(client: RegisteredOauthClient, asked: string | undefined): readonly string[] {
  const wanted = asked?.split(' ').filter((scope) => scope !== '') ?? []
  if (wanted.length === 0) return client.scopes
  const isGranted = wanted.every((scope) => isCovered(scope, client.scopes))
  if (!isGranted || new Set(wanted).size !== wanted.length) throw tokenEndpointError('invalid_scope')
  return wanted
}

import { Type } from 'typebox'
import { answers } from '../../platform/http/answers.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { tokenEndpointError } from '../../platform/http/token-endpoint-errors.ts'
import { longestToken } from '../../platform/http/tokens.ts'
import { oauthClients, type RegisteredOauthClient } from '../../streams/oauth-client/aggregate.ts'
import { execute } from '../../engine/commands/execute.ts'
import { createClientAuthentication, type AuthDependencies } from './client-authentication.ts'
import { useSecret } from './client-secrets.ts'
import { TokenBody, TokenReply, oauthErrors } from './forms.ts'
import { metadataRoute } from './metadata-routes.ts'
import { presentedTokenRoutes } from './presented-token-routes.ts'
import { isCovered } from './scopes.ts'

export const JsonWebKeySet = Type.Object(
  { keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) },
  { $id: 'JsonWebKeySet' },
)

export function authRoutes(app: ServiceApp, deps: AuthDependencies): void {
  const { store, vault, tokens, now } = deps
  const authenticate = createClientAuthentication(deps)
  presentedTokenRoutes(app, deps, authenticate)
  metadataRoute(app, deps)

  app.post(
    '/oauth/token',
    {
      schema: {
        operationId: 'issueToken',
        summary: 'Issue an access token (client credentials)',
        description:
          'The client shows its secret in the header or in the form, or a signed assertion (`private_key_jwt`, RFC 7523 as in SMART Backend Services: RS384 or ES384, `aud` this address, `exp` at most five minutes ahead, each `jti` once).',
        consumes: ['application/x-www-form-urlencoded'],
        body: TokenBody,
        response: answers({ 200: TokenReply, ...oauthErrors }, [
          'quota-exceeded',
          'database-unavailable',
          'event-store-unavailable',
          'written-by-newer-version',
        ]),
      },
      config: { access: 'public', form: true, errors: 'oauth' },
    },
    async (request, reply) => {
      const { body } = request
      if (body.grant_type !== 'client_credentials') throw tokenEndpointError('unsupported_grant_type')
      const { client, secretId, endsBy } = await authenticate(request)
      app.rateLimits.admitToken(reply, client.clientId)
      const { clientId, orgId, productId, trustedActorContext } = client
      const scopes = grantedScopes(client, body.scope)
      if (secretId !== null) {
        const used = { secretId, now: now() }
        const context = commandContext(request, { orgId: orgId ?? undefined, clientId })
        await execute(store, oauthClients.of(clientId), (state) => useSecret(used, state), context)
      }
      reply.header('pragma', 'no-cache')
      const clientRevision = client.applied - 1
      const claims = { clientId, orgId, productId, trustedActorContext, scopes, secretId, clientRevision }
      const issued = await tokens.issue(claims, endsBy)
      if (issued.access_token.length > longestToken)
        throw tokenEndpointError(
          'invalid_scope',
          'A token with these scopes would be longer than 8 KiB. Ask for fewer.',
        )
      return reply.send(issued)
    },
  )

  app.get(
    '/.well-known/jwks.json',
    {
      schema: {
        operationId: 'getTokenKeys',
        summary: 'Keys that verify access tokens, actor contexts, consent receipts and documents for auditors',
        description:
          'A new key is here before it signs, an old one until its last token has ended. Keys of receipts and of documents for auditors stay for good.',
        response: answers({ 200: JsonWebKeySet }),
      },
      config: { access: 'public' },
    },
    async (_request, reply) => {
      const purposes = ['receipt', 'actor-context', 'provenance'] as const
      const others = await Promise.all(purposes.map((purpose) => vault.publicKeys(purpose)))
      const keys = [...(await tokens.jwks()).keys, ...others.flat()]
      reply.header('cache-control', 'public, max-age=300')
      return reply.send({ keys: keys.map((key) => ({ ...key })) })
    },
  )
}

/** All scopes of the client unless it asks for some; one that is unknown, repeated or not its own is refused. */
function grantedScopes(client: RegisteredOauthClient, asked: string | undefined): readonly string[] {
  const wanted = asked?.split(' ').filter((scope) => scope !== '') ?? []
  if (wanted.length === 0) return client.scopes
  const isGranted = wanted.every((scope) => isCovered(scope, client.scopes))
  if (!isGranted || new Set(wanted).size !== wanted.length) throw tokenEndpointError('invalid_scope')
  return wanted
}

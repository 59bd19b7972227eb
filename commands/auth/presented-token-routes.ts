import { Type } from 'typebox'
import { answers } from '../../platform/http/answers.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { TokenRejectedError, type VerifiedToken } from '../../platform/http/tokens.ts'
import { oauthClients, type RegisteredOauthClient } from '../../streams/oauth-client/aggregate.ts'
import { execute } from '../../engine/commands/execute.ts'
import type { AuthDependencies, AuthenticateClient } from './client-authentication.ts'
import { oauthErrors, IntrospectionReply, PresentedTokenBody } from './forms.ts'
import { hasEnded, revokeToken } from './revoke-token.ts'

const form = { access: 'public', form: true, errors: 'oauth' } as const
const shared = {
  consumes: ['application/x-www-form-urlencoded'],
  body: PresentedTokenBody,
}
const dependencies = [
  'quota-exceeded',
  'database-unavailable',
  'event-store-unavailable',
  'written-by-newer-version',
  'record-unreadable',
] as const

/** Introspection (RFC 7662) and revocation (RFC 7009). The client authenticates as at the token endpoint. */
export function presentedTokenRoutes(
  app: ServiceApp,
  { store, tokens, now }: AuthDependencies,
  authenticate: AuthenticateClient,
): void {
  app.post(
    '/oauth/introspect',
    {
      schema: {
        ...shared,
        operationId: 'introspectToken',
        summary: 'Whether a token is valid (RFC 7662)',
        description:
          'A client asks about its own tokens, a platform client about any. Other tokens are not active. The answer includes every revocation that was answered before.',
        response: answers({ 200: IntrospectionReply, ...oauthErrors }, dependencies),
      },
      config: { ...form, changesNothing: true },
    },
    async (request, reply) => {
      const { client } = await authenticate(request)
      app.rateLimits.admit(request, reply, callerOf(client))
      const token = await tokenFor(client, request.body.token)
      if (token === undefined) return reply.send({ active: false })
      const { state } = await store.load(oauthClients.of(token.clientId))
      return reply.send(hasEnded(token, state) ? { active: false } : described(token))
    },
  )

  app.post(
    '/oauth/revoke',
    {
      schema: {
        ...shared,
        operationId: 'revokeToken',
        summary: 'End a token (RFC 7009)',
        description:
          'A client ends its own tokens, a platform client any. Also 200 for an unknown token, and for a token of another client, which stays valid. Every API instance refuses the token within a second.',
        response: answers({ 200: Type.Unsafe<undefined>({ type: 'null', description: 'No body' }), ...oauthErrors }, [
          'conflict',
          ...dependencies,
        ]),
      },
      config: form,
    },
    async (request, reply) => {
      const { client } = await authenticate(request)
      app.rateLimits.admit(request, reply, callerOf(client))
      const token = await tokenFor(client, request.body.token)
      if (token === undefined) return reply.send(undefined)
      const context = commandContext(request, { orgId: client.orgId ?? undefined, clientId: client.clientId })
      const target = oauthClients.of(token.clientId)
      await execute(store, target, (state) => revokeToken({ token, now: now() }, state), context)
      return reply.send(undefined)
    },
  )

  /** The token, if it is one, has not expired, and the client may know of it. */
  async function tokenFor(client: RegisteredOauthClient, text: string): Promise<VerifiedToken | undefined> {
    try {
      const token = await tokens.read(text)
      return client.orgId === null || token.clientId === client.clientId ? token : undefined
    } catch (error) {
      if (error instanceof TokenRejectedError) return undefined
      throw error
    }
  }

  function described(token: VerifiedToken) {
    const { clientId, scopes, expiresAt, issuedAt, tokenId, orgId, productId } = token
    return {
      active: true,
      scope: scopes.join(' '),
      client_id: clientId,
      token_type: 'Bearer' as const,
      exp: expiresAt,
      iat: issuedAt,
      sub: clientId,
      aud: tokens.audience,
      iss: tokens.issuer,
      jti: tokenId,
      ...(orgId === null ? {} : { org_id: orgId }),
      ...(productId === null ? {} : { product_id: productId }),
    }
  }
}

/** For the rate limits: nothing else looks at the caller of these routes. */
function callerOf({ clientId, orgId, productId, scopes, trustedActorContext }: RegisteredOauthClient) {
  const none = { actor: null, isBootstrapAdmin: false }
  return { clientId, orgId, productId, scopes: new Set(scopes), trustedActorContext, ...none }
}

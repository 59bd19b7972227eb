import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../store/schema.ts'
import { Id, Instant, Nullable, Sha256, OrgId } from '../types.ts'

export const oauthClientEvents = {
  OauthClientRegistered: defineEvent(
    'OauthClientRegistered',
    Type.Object({
      clientId: Id,
      name: Type.String(),
      /** Null for a platform-level client. Such a client names the organisation in each request. */
      orgId: Nullable(OrgId),
      productId: Nullable(Id),
      trustedActorContext: Type.Boolean(),
      /** HMAC of the random 256-bit secret with the vault's pepper. */
      secretHash: Sha256,
      scopes: Type.Array(Type.String()),
      registeredAt: Instant,
    }),
  ),
  /** Scopes in addition to the existing ones. */
  OauthClientScopesGranted: defineEvent(
    'OauthClientScopesGranted',
    Type.Object({ clientId: Id, scopes: Type.Array(Type.String()), grantedAt: Instant }),
  ),
} as const

export type OauthClientEvent = EventOf<typeof oauthClientEvents>

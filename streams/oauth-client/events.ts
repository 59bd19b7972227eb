import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../store/schema.ts'
import { Id, Instant, Nullable, Sha256, OrgId } from '../types.ts'

export const oauthClientEvents = {
  OauthClientRegistered: defineEvent(
    'OauthClientRegistered',
    Type.Object({
      clientId: Id,
      name: Type.String(),
      /** Null for a platform-level client, which names the organisation in each request. */
      orgId: Nullable(OrgId),
      productId: Nullable(Id),
      trustedActorContext: Type.Boolean(),
      /** HMAC of the 256-bit random secret with the vault's pepper. */
      secretHash: Sha256,
      scopes: Type.Array(Type.String()),
      registeredAt: Instant,
    }),
  ),
  /** Beyond those that it has. */
  OauthClientScopesGranted: defineEvent(
    'OauthClientScopesGranted',
    Type.Object({ clientId: Id, scopes: Type.Array(Type.String()), grantedAt: Instant }),
  ),
} as const

export type OauthClientEvent = EventOf<typeof oauthClientEvents>

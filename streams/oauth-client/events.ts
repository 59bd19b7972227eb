import { Type, type Static } from 'typebox'
import { defineEvent, Internal, type EventOf } from '../../engine/store/schema.ts'
import { Fingerprint, Id, Instant, Nullable, OrgId, Sha256 } from '../../engine/aggregates/types.ts'

/** How the client proves who it is: by a secret (in the header or in the form), or by a signed JWT. */
export const AuthMethod = Type.Enum(['client_secret', 'private_key_jwt'])
export type AuthMethod = Static<typeof AuthMethod>

/** Public key of a client, with the members that a verification needs. RS384 takes RSA, ES384 takes P-384. */
export const ClientKey = Type.Union([
  Type.Object({ kid: Type.String(), kty: Type.Literal('RSA'), n: Type.String(), e: Type.String() }),
  Type.Object({
    kid: Type.String(),
    kty: Type.Literal('EC'),
    crv: Type.Literal('P-384'),
    x: Type.String(),
    y: Type.String(),
  }),
])
export type ClientKey = Static<typeof ClientKey>

const newSecret = {
  secretId: Id,
  /** HMAC of the random 256-bit secret with the vault's pepper. */
  hash: Internal(Sha256),
  /** Null: valid until it is removed. */
  expiresAt: Nullable(Instant),
}

/** The members that an administrator may change. An event contains all of them as they are afterwards. */
const described = {
  name: Type.String(),
  productId: Nullable(Id),
  trustedActorContext: Type.Boolean(),
  /** Sorted, without duplicates. */
  scopes: Type.Array(Type.String()),
  /** With `private_key_jwt`, either the keys or their address; else both null. */
  jwks: Nullable(Type.Array(ClientKey)),
  jwksUri: Nullable(Type.String()),
}

export const oauthClientEvents = {
  OauthClientRegistered: defineEvent(
    'OauthClientRegistered',
    Type.Object({
      clientId: Id,
      /** Null for a platform-level client. Such a client names the organisation in each request. */
      orgId: Nullable(OrgId),
      authMethod: AuthMethod,
      ...described,
      /** Null with `private_key_jwt`. */
      secret: Nullable(Type.Object(newSecret)),
      fingerprint: Fingerprint,
      registeredAt: Instant,
    }),
  ),
  OauthClientChanged: defineEvent(
    'OauthClientChanged',
    Type.Object({ clientId: Id, ...described, changedAt: Instant }),
  ),
  /**
   * Follows a change that took scopes, the product or the trusted actor context away: every older token of the client
   * ends. "Older" means issued from a state before this event's revision.
   */
  OauthClientNarrowed: defineEvent('OauthClientNarrowed', Type.Object({ clientId: Id, narrowedAt: Instant })),
  OauthClientSecretAdded: defineEvent(
    'OauthClientSecretAdded',
    Type.Object({ clientId: Id, ...newSecret, addedAt: Instant, fingerprint: Fingerprint }),
  ),
  /** Tokens that were issued with this secret end. */
  OauthClientSecretRemoved: defineEvent(
    'OauthClientSecretRemoved',
    Type.Object({ clientId: Id, secretId: Id, removedAt: Instant }),
  ),
  /** At most once an hour per secret. */
  OauthClientSecretUsed: defineEvent(
    'OauthClientSecretUsed',
    Type.Object({ clientId: Id, secretId: Id, usedAt: Instant }),
  ),
  /** Every older token of the client ends, also after the client is enabled again. */
  OauthClientDisabled: defineEvent('OauthClientDisabled', Type.Object({ clientId: Id, disabledAt: Instant })),
  OauthClientEnabled: defineEvent('OauthClientEnabled', Type.Object({ clientId: Id, enabledAt: Instant })),
  /** For good: no client gets this id again. */
  OauthClientDeleted: defineEvent('OauthClientDeleted', Type.Object({ clientId: Id, deletedAt: Instant })),
  /** `expiresAt` is the end that the token had anyway. */
  OauthTokenRevoked: defineEvent(
    'OauthTokenRevoked',
    Type.Object({ clientId: Id, jti: Type.String(), expiresAt: Instant, revokedAt: Instant }),
  ),
} as const

export type OauthClientEvent = EventOf<typeof oauthClientEvents>

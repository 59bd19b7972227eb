import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import type { ClientKey } from '../../streams/oauth-client/events.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

/** Shown once, in the answer of the request that made it. */
const shownOnce = { description: 'Only in the answer to the request that made it; a keyed repeat has none' }

const SecretOfClient = Type.Object({
  id: Uuid,
  created_at: Instant,
  expires_at: Nullable(Instant),
  last_used_at: Nullable(Instant),
})

const member = Type.Optional(Type.String())

/** RFC 7517: `n` and `e` of an RSA key, `crv`, `x` and `y` of an EC key. */
const PublicKey = Type.Object({
  kid: Type.String(),
  kty: Type.Enum(['RSA', 'EC']),
  n: member,
  e: member,
  crv: member,
  x: member,
  y: member,
})

export const OauthClientRecord = Type.Object(
  {
    client_id: Uuid,
    name: Type.String(),
    org_id: Nullable(Uuid),
    product_id: Nullable(Uuid),
    scopes: Type.Array(Type.String()),
    trusted_actor_context: Type.Boolean(),
    status: Type.Enum(['active', 'disabled']),
    token_endpoint_auth_method: Type.Enum(['client_secret_basic', 'private_key_jwt'], {
      description: 'A client with a secret may also send it in the form (client_secret_post)',
    }),
    jwks: Nullable(Type.Object({ keys: Type.Array(PublicKey) })),
    jwks_uri: Nullable(Type.String()),
    secrets: Type.Array(SecretOfClient),
    created_at: Instant,
    updated_at: Instant,
    client_secret: Type.Optional(Type.String(shownOnce)),
  },
  { $id: 'OauthClientRecord' },
)
export type OauthClientRecord = Static<typeof OauthClientRecord>

export const OauthClientSecretRecord = Type.Object(
  { ...SecretOfClient.properties, client_secret: Type.Optional(Type.String(shownOnce)) },
  { $id: 'OauthClientSecretRecord' },
)
export type OauthClientSecretRecord = Static<typeof OauthClientSecretRecord>

interface SecretValues {
  readonly secretId: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly lastUsedAt: string | null
}

type Same = 'tokenEndpointAuthMethod' | 'jwks' | 'secrets' | 'createdAt'

/** A client as its stream and its row have it. */
export interface OauthClientValues extends Omit<ValuesOf<typeof OauthClientRecord>, Same> {
  readonly authMethod: 'client_secret' | 'private_key_jwt'
  readonly jwks: readonly ClientKey[] | null
  readonly secrets: readonly SecretValues[]
  readonly registeredAt: string
}

export function toOauthClientRecord(client: OauthClientValues, clientSecret?: string): OauthClientRecord {
  return toRecord(OauthClientRecord, {
    ...client,
    tokenEndpointAuthMethod: client.authMethod === 'client_secret' ? 'client_secret_basic' : client.authMethod,
    jwks: client.jwks === null ? null : { keys: [...client.jwks] },
    secrets: client.secrets.map((secret) => toOauthClientSecretRecord(secret)),
    createdAt: client.registeredAt,
    clientSecret,
  })
}

export function toOauthClientSecretRecord(secret: SecretValues, clientSecret?: string): OauthClientSecretRecord {
  return toRecord(OauthClientSecretRecord, { ...secret, id: secret.secretId, clientSecret })
}

import { Type, type Static } from 'typebox'
import { furtherRule, urlDocumented } from '../../platform/http/documented.ts'
import { scopePattern } from '../../contracts/auth/scope.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { DistinctList } from '../../platform/http/distinct-items.ts'
import { Instant, Nullable, Text, Uuid } from '../../platform/http/members.ts'
import { invalidMember } from '../../platform/http/problems.ts'
import { checkOutboundUrl, urlRules } from '../../platform/outbound/addresses.ts'
import { outboundRules } from '../../platform/outbound/own-servers.ts'
import { distinctItems, noneOf } from '../../platform/kit/documented-rules.ts'
import type { ClientKey } from '../../streams/oauth-client/events.ts'
import { isUsableKey, longest } from './key-strength.ts'

const Scopes = DistinctList(Type.String({ maxLength: 255 }), { maxItems: 200 })

/** A number of a key. `isUsableKey` checks it. */
function keyNumber(minLength: number, longest: number) {
  const documented = { minLength, maxLength: longest, pattern: '^[A-Za-z0-9_-]+$' }
  return Type.Optional(Type.String({ maxLength: 2048, documented }))
}
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const publicKeyDocumented = furtherRule({
  oneOf: [
    { properties: { kty: { enum: ['RSA'] } }, required: ['n', 'e'] },
    { properties: { kty: { enum: ['EC'] }, crv: { enum: ['P-384'] } }, required: ['crv', 'x', 'y'] },
  ],
  ...noneOf(...secretMembers.map((name) => ({ required: [name] }))),
})

/** RFC 7517: other members of a key are ignored. */
const Jwks = Type.Object(
  {
    keys: Type.Array(
      Type.Object(
        {
          kid: Text(255),
          kty: Type.Enum(['RSA', 'EC']),
          n: keyNumber(342, longest.n),
          e: keyNumber(4, longest.e),
          crv: Type.Optional(Type.String({ maxLength: 2048 })),
          x: keyNumber(1, 2048),
          y: keyNumber(1, 2048),
        },
        { additionalProperties: true, documented: publicKeyDocumented },
      ),
      { minItems: 1, maxItems: 10 },
    ),
  },
  { $id: 'ClientJwks', additionalProperties: false },
)

/** A client has its keys in the body or at an address, never both. */
const oneKeySource = { not: { required: ['jwks', 'jwks_uri'] } }

const members = {
  name: Text(255),
  product_id: Type.Optional(Nullable(Uuid)),
  trusted_actor_context: Type.Optional(Type.Boolean()),
  jwks: Type.Optional(Jwks),
  jwks_uri: Type.Optional(Type.String({ minLength: 1, maxLength: 2048, documented: urlDocumented })),
}

export const RegisterClientBody = Type.Object(
  { ...members, scopes: Scopes, org_id: Type.Optional(Nullable(Uuid)) },
  { $id: 'RegisterClientBody', additionalProperties: false, documented: oneKeySource },
)

export const ChangeClientBody = Type.Object(
  {
    ...members,
    name: Type.Optional(members.name),
    scopes: Type.Optional(Scopes),
    status: Type.Optional(Type.Enum(['active', 'disabled'])),
  },
  { $id: 'ChangeClientBody', additionalProperties: false, documented: oneKeySource },
)

export const AddClientSecretBody = Type.Object(
  { expires_at: Type.Optional(Nullable(Instant)) },
  { $id: 'AddClientSecretBody', additionalProperties: false },
)

export const RegisterScopesBody = Type.Object(
  {
    service_id: Type.String({ pattern: '^[a-z][a-z0-9_-]*$', maxLength: 255 }),
    scopes: Type.Array(
      Type.Object(
        { scope: Type.String({ pattern: scopePattern, maxLength: 255 }), description: Text(1000) },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: 500, documented: distinctItems },
    ),
  },
  { $id: 'RegisterScopesBody', additionalProperties: false },
)

/** Which keys a client has: those of the body, or those at an address. */
export function keyCheck(configuration: Configuration) {
  const outbound = outboundRules(configuration)
  return ({ jwks, jwks_uri: jwksUri }: Pick<Static<typeof ChangeClientBody>, 'jwks' | 'jwks_uri'>) => {
    if (jwks !== undefined && jwksUri !== undefined) throw invalidMember('/jwks_uri', 'excludes jwks', 'ambiguous')
    if (jwksUri !== undefined) {
      const checked = checkOutboundUrl(jwksUri, outbound)
      if ('refused' in checked) throw invalidMember('/jwks_uri', urlRules[checked.refused], checked.refused)
    }
    return { jwks: jwks?.keys.map(publicKey), jwksUri }
  }
}

type GivenKey = Static<typeof Jwks>['keys'][number]

function publicKey(key: GivenKey, place: number, all: readonly GivenKey[]): ClientKey {
  const { kid, kty, n, e, crv, x, y } = key
  const pointer = `/jwks/keys/${place}`
  if (secretMembers.some((name) => name in key)) throw invalidMember(pointer, 'must be a public key', 'private-key')
  if (all.findIndex((other) => other.kid === kid) !== place)
    throw invalidMember(`${pointer}/kid`, 'repeats the kid of another key', 'duplicate')
  const given = kty === 'RSA' ? { kid, kty, n, e } : { kid, kty, crv, x, y }
  if (!isUsableKey(given))
    throw invalidMember(
      pointer,
      'must be an RSA key of 2048 to 8192 bits with an exponent of 65537 or more, or a P-384 key',
      'unsupported-key',
    )
  return given
}

import { randomUUID } from 'node:crypto'
import { baseUrl } from './auth-api.ts'
import { foreign, forge, publicJwk, twice, type TokenMaker } from './token-maker.ts'

export type Vector = readonly [what: string, make: (m: TokenMaker) => string | Promise<string>]

const algorithms: readonly Vector[] = [
  ...['none', 'None', 'NONE', 'nOnE', ''].map((alg): Vector => [
    `alg "${alg}" without signature`,
    (m) => forge({ header: m.header({ alg }), claims: m.claims(), key: null }),
  ]),
  ['alg none with a signature of ours', (m) => m.withHeader({ alg: 'none' })],
  ['no alg', (m) => m.withHeader({ alg: undefined })],
  ['an alg that is a number', (m) => m.withHeader({ alg: 1 })],
  ['an alg that is a list', (m) => m.withHeader({ alg: ['EdDSA'] })],
  ['the newer name of our own algorithm', (m) => m.withHeader({ alg: 'Ed25519' })],
  ['HS256 with our public key as bytes', (m) => m.ours({ header: m.header({ alg: 'HS256' }), key: m.publicBytes() })],
  ['HS256 with our public key as PEM', (m) => m.ours({ header: m.header({ alg: 'HS256' }), key: m.publicPem() })],
  [
    'HS256 with our public key as JWK',
    (m) => m.ours({ header: m.header({ alg: 'HS256' }), key: JSON.stringify(m.key.publicJwk) }),
  ],
  ['HS256 with an empty secret', (m) => m.ours({ header: m.header({ alg: 'HS256' }), key: '' })],
  [
    'HS512 with our public key',
    (m) => m.ours({ header: m.header({ alg: 'HS512' }), key: m.publicBytes(), digest: 'sha512' }),
  ],
  ['RS256 under our key id', (m) => m.ours({ header: m.header({ alg: 'RS256' }), key: foreign('rsa') })],
  [
    'RS384 under our key id',
    (m) => m.ours({ header: m.header({ alg: 'RS384' }), key: foreign('rsa'), digest: 'sha384' }),
  ],
  ['ES256 under our key id', (m) => m.ours({ header: m.header({ alg: 'ES256' }), key: foreign('P-256') })],
  [
    'ES384 under our key id',
    (m) => m.ours({ header: m.header({ alg: 'ES384' }), key: foreign('P-384'), digest: 'sha384' }),
  ],
  ['another key under our key id', (m) => m.ours({ key: foreign('ed25519') })],
]

const keyIds: readonly Vector[] = [
  ['no kid', (m) => m.withHeader({ kid: undefined })],
  ['an unknown kid', (m) => m.withHeader({ kid: 'unknown' })],
  ['an empty kid', (m) => m.withHeader({ kid: '' })],
  ['a kid that is a number', (m) => m.withHeader({ kid: 1 })],
  ['a kid that is a path', (m) => m.withHeader({ kid: '../../../dev/null' })],
  ['a kid with SQL', (m) => m.withHeader({ kid: "' or 1=1 --" })],
  ['the key of receipts', async (m) => m.signedFor('receipt')],
  ['the key of actor contexts', async (m) => m.signedFor('actor-context')],
  ['the key of documents for auditors', async (m) => m.signedFor('provenance')],
  [
    'the key of receipts under our key id',
    async (m) => {
      const { privateKey } = await m.world.vault.signingKey('receipt')
      return m.ours({ key: privateKey })
    },
  ],
  [
    'a key in the header',
    (m) => {
      const own = foreign('ed25519')
      return m.ours({ header: m.header({ jwk: publicJwk(own) }), key: own })
    },
  ],
  [
    'an address of keys in the header',
    (m) => m.ours({ header: m.header({ jku: 'https://evil.test/jwks' }), key: foreign('ed25519') }),
  ],
  ['a certificate in the header', (m) => m.ours({ header: m.header({ x5c: ['MIIB'] }), key: foreign('ed25519') })],
  ['an unknown critical member', (m) => m.withHeader({ crit: ['urn:x'], 'urn:x': true })],
  ['an unencoded payload', (m) => m.withHeader({ crit: ['b64'], b64: false })],
]

const members: readonly Vector[] = [
  ...[
    undefined,
    'JWT',
    'jwt',
    'consent-receipt+jws',
    'actor-context+jwt',
    'client-authentication+jwt',
    'secevent+jwt',
    7,
  ].map((typ): Vector => [`typ ${String(typ)}`, (m) => m.withHeader({ typ })]),
  ...[undefined, 'https://other.test', `${baseUrl}/v1/auth/`, baseUrl, ['a'], ''].map((iss): Vector => [
    `iss ${JSON.stringify(iss)}`,
    (m) => m.withClaims({ iss }),
  ]),
  ...[
    undefined,
    'https://other.test',
    `${baseUrl}/`,
    `${baseUrl}/v1/auth`,
    [],
    [baseUrl],
    [baseUrl, 'https://other.test'],
  ].map((aud): Vector => [`aud ${JSON.stringify(aud)}`, (m) => m.withClaims({ aud })]),
  ...[undefined, 0, -1, '9999999999', null, Number.MAX_VALUE.toString()].map((exp): Vector => [
    `exp ${JSON.stringify(exp)}`,
    (m) => m.withClaims({ exp }),
  ]),
  ['exp now', (m) => m.withClaims({ exp: m.now() })],
  ['exp a second ago', (m) => m.withClaims({ exp: m.now(-1) })],
  ...[undefined, '1', null].map((iat): Vector => [`iat ${JSON.stringify(iat)}`, (m) => m.withClaims({ iat })]),
  ['iat in a minute', (m) => m.withClaims({ iat: m.now(60) })],
  ['nbf in a minute', (m) => m.withClaims({ nbf: m.now(60) })],
  ['nbf that is a text', (m) => m.withClaims({ nbf: 'now' })],
  ['no sub', (m) => m.withClaims({ sub: undefined })],
  ['another sub', (m) => m.withClaims({ sub: randomUUID() })],
  ['no client_id', (m) => m.withClaims({ client_id: undefined })],
  ['another client_id', (m) => m.withClaims({ client_id: randomUUID() })],
  ['a client_id that is a number', (m) => m.withClaims({ client_id: 7, sub: 7 })],
  ['no jti', (m) => m.withClaims({ jti: undefined })],
  ['a jti that is a number', (m) => m.withClaims({ jti: 7 })],
  ['no scope', (m) => m.withClaims({ scope: undefined })],
  ['a list of scopes', (m) => m.withClaims({ scope: ['things:read'] })],
  ...(['alg', 'typ', 'kid'] as const).map((name): Vector => [
    `${name} twice in the header`,
    (m) => {
      const once = m.header()
      return m.ours({ header: twice(once, name, once[name]) })
    },
  ]),
  ...(['client_id', 'sub', 'aud', 'exp', 'scope'] as const).map((name): Vector => [
    `${name} twice in the claims`,
    (m) => {
      const once = m.claims()
      return m.ours({ claims: twice(once, name, once[name]) })
    },
  ]),
  [
    'org_id twice in the claims',
    (m) => m.ours({ claims: twice(m.claims({ org_id: randomUUID() }), 'org_id', m.world.orgId) }),
  ],
]

export const memberVectors: readonly Vector[] = [...algorithms, ...keyIds, ...members]

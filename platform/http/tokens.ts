import {
  SignJWT,
  decodeProtectedHeader,
  errors,
  importJWK,
  jwtVerify,
  type CryptoKey,
  type JWK,
  type JWTPayload,
  type KeyObject,
} from 'jose'
import { LRUCache } from 'lru-cache'
import { atMost } from '../kit/at-most.ts'
import { v7 as uuidv7 } from 'uuid'
import { readJsonText } from '../kit/json-reading.ts'
import { Problem } from './problems.ts'
import { requireOneMeaning } from './repeated-members.ts'

/** Signing keys of one purpose; implemented by `platform/vault`. The newest key signs, all keys are published. */
export interface TokenKeys {
  signingKey(
    purpose: 'token',
  ): Promise<{ readonly kid: string; readonly privateKey: KeyObject | CryptoKey | JWK; readonly publicJwk: JWK }>
  publicKeys(purpose: 'token'): Promise<readonly JWK[]>
}

export interface TokenClaims {
  readonly clientId: string
  readonly orgId: string | null
  readonly productId: string | null
  readonly scopes: readonly string[]
  /** The client is a source of actor contexts. */
  readonly trustedActorContext: boolean
  /** The secret that the client showed; null with `private_key_jwt`. */
  readonly secretId: string | null
  /** Revision of the client's stream at the issue. A later event may end the token. */
  readonly clientRevision: number
}

export interface VerifiedToken extends TokenClaims {
  /** The scopes, and those that they include. */
  readonly grantedScopes: ReadonlySet<string>
  readonly tokenId: string
  /** Seconds since 1970. */
  readonly issuedAt: number
  readonly expiresAt: number
}

/** Body of the token endpoint's success (spec 2.3). `scope` is sorted, separated by spaces; `expires_in` in seconds. */
interface IssuedToken {
  readonly access_token: string
  readonly token_type: 'Bearer'
  readonly expires_in: number
  readonly scope: string
}

export class TokenRejectedError extends Error {
  override readonly name = 'TokenRejectedError'
  readonly isSafeToLog = true
  readonly reason: 'invalid' | 'expired'

  constructor(reason: TokenRejectedError['reason']) {
    super(`access token ${reason}`)
    this.reason = reason
  }
}

/** The tokens that ended before their time. */
export interface TokenEndings {
  /** How many keys have ended. When one ends, another one signs at once, maybe a key that is new to this process. */
  readonly endedKeys: number
  /** @throws EventStoreUnavailableError if this process cannot know */
  hasEnded(token: VerifiedToken): boolean
}

export interface TokenIssuer {
  readonly issuer: string
  readonly audience: string
  /** The token ends after the usual time, or at `endsBy` if that is earlier. */
  issue(claims: TokenClaims, endsBy?: Date | null): Promise<IssuedToken>
  /** Rejects with `TokenRejectedError`, also if the token ended before its time. */
  verify(token: string): Promise<VerifiedToken>
  /** The same without the check for an early end: for callers that read the client's stream themselves. */
  read(token: string): Promise<VerifiedToken>
  jwks(): Promise<{ readonly keys: readonly JWK[] }>
}

export interface TokenIssuerOptions {
  readonly keys: TokenKeys
  readonly issuer: string
  readonly audience: string
  readonly ttlSeconds: number
  /** Default: no token ends before its time (tests, and processes without routes). */
  readonly endings?: TokenEndings | undefined
  readonly now?: () => Date
}

const algorithm = 'EdDSA'
const tokenType = 'at+jwt'
const skewSeconds = 5
/** Characters of an access token. A longer one is refused, so it must not be issued. */
export const longestToken = 8192
/** An unknown key id causes a new read from the vault, but at most once per interval, whatever callers send. */
const keyRefreshMs = 5000
/** Known keys are read again after this time, so a key that is not published any more verifies nothing. */
const keyLifetimeMs = 60_000

/**
 * Access tokens by RFC 9068: `typ: at+jwt`, EdDSA only (the header's `alg` never chooses), fixed audience and issuer.
 */
export function createTokenIssuer({
  keys,
  issuer,
  audience,
  ttlSeconds,
  endings,
  now = () => new Date(),
}: TokenIssuerOptions): TokenIssuer {
  const verified = new LRUCache<string, VerifiedToken>(atMost(5_000))
  let publicKeyOf = createKeyLookup(keys, now)
  let endedKeys = 0

  return {
    issuer,
    audience,

    async issue(claims, endsBy = null) {
      const { kid, privateKey } = await keys.signingKey('token')
      const issuedAt = Math.floor(now().getTime() / 1000)
      const latest = endsBy === null ? Number.POSITIVE_INFINITY : Math.floor(endsBy.getTime() / 1000)
      const expiresAt = Math.max(issuedAt, Math.min(issuedAt + ttlSeconds, latest))
      const scope = [...new Set(claims.scopes)].sort().join(' ')
      const token = await new SignJWT({ client_id: claims.clientId, scope, ...ownClaims(claims) })
        .setProtectedHeader({ alg: algorithm, typ: tokenType, kid })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(claims.clientId)
        .setJti(uuidv7())
        .setIssuedAt(issuedAt)
        .setExpirationTime(expiresAt)
        .sign(privateKey)
      return { access_token: token, token_type: 'Bearer', expires_in: expiresAt - issuedAt, scope }
    },

    async verify(token) {
      const result = await read(token)
      if (endings?.hasEnded(result) !== true) return result
      verified.delete(token)
      throw new TokenRejectedError('invalid')
    },

    read,

    jwks: async () => ({ keys: await keys.publicKeys('token') }),
  }

  async function read(token: string): Promise<VerifiedToken> {
    forgetEndedKeys()
    const nowSeconds = now().getTime() / 1000
    const known = verified.get(token)
    if (known !== undefined) {
      if (known.expiresAt <= nowSeconds) throw new TokenRejectedError('expired')
      return known
    }
    const usedKeys = publicKeyOf
    const result = readClaims(await verifySignature(token))
    forgetEndedKeys()
    // The key may be the one that ended in the meantime.
    if (publicKeyOf !== usedKeys) return read(token)
    if (result.issuedAt > nowSeconds + skewSeconds) throw new TokenRejectedError('invalid')
    verified.set(token, result)
    return result
  }

  function forgetEndedKeys(): void {
    if (endings === undefined || endings.endedKeys === endedKeys) return
    ;({ endedKeys } = endings)
    verified.clear()
    publicKeyOf = createKeyLookup(keys, now)
  }

  async function verifySignature(token: string): Promise<JWTPayload> {
    if (token.length > longestToken) throw new TokenRejectedError('invalid')
    try {
      const { kid = '' } = decodeProtectedHeader(token)
      const key = await publicKeyOf(kid)
      if (key === undefined || !hasOneMeaning(token)) throw new TokenRejectedError('invalid')
      const options = {
        algorithms: [algorithm],
        typ: tokenType,
        issuer,
        audience,
        currentDate: now(),
        requiredClaims: ['sub', 'iat', 'exp', 'jti', 'client_id', 'scope'],
      }
      const { payload } = await jwtVerify(token, key, options)
      return payload
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw new TokenRejectedError('expired')
      if (error instanceof errors.JOSEError || error instanceof TypeError) throw new TokenRejectedError('invalid')
      throw error
    }
  }
}

function createKeyLookup(keys: TokenKeys, now: () => Date) {
  let known: ReadonlyMap<string, CryptoKey | Uint8Array> = new Map()
  let readAt = Number.NEGATIVE_INFINITY
  return async (kid: string): Promise<CryptoKey | Uint8Array | undefined> => {
    const ageMs = now().getTime() - readAt
    // The clock may have gone back since.
    if (ageMs < 0 || ageMs >= (known.has(kid) ? keyLifetimeMs : keyRefreshMs)) {
      const published = await keys.publicKeys('token')
      const entries = await Promise.all(
        published.map(async (jwk) => [jwk.kid ?? '', await importJWK(jwk, algorithm)] as const),
      )
      known = new Map(entries)
      readAt = now().getTime()
    }
    return known.get(kid)
  }
}

function ownClaims({ orgId, productId, trustedActorContext, secretId, clientRevision }: TokenClaims): JWTPayload {
  return {
    client_revision: clientRevision,
    ...(secretId === null ? {} : { secret_id: secretId }),
    ...(orgId === null ? {} : { org_id: orgId }),
    ...(productId === null ? {} : { product_id: productId }),
    ...(trustedActorContext ? { trusted_actor_context: true } : {}),
  }
}

function readClaims(payload: JWTPayload): VerifiedToken {
  const { client_id: clientId, scope, sub, aud, jti, iat, exp } = payload
  const isComplete = typeof clientId === 'string' && typeof scope === 'string' && typeof jti === 'string'
  const isOurs = sub === clientId && typeof aud === 'string'
  if (!isComplete || !isOurs || iat === undefined || exp === undefined) throw new TokenRejectedError('invalid')
  const scopes = scope.split(' ').filter((one) => one !== '')
  return {
    clientId,
    orgId: textOrNull(payload['org_id']),
    productId: textOrNull(payload['product_id']),
    scopes,
    grantedScopes: new Set(scopes.flatMap(withIncluded)),
    trustedActorContext: payload['trusted_actor_context'] === true,
    secretId: textOrNull(payload['secret_id']),
    // A token from before this claim is older than any event that ends tokens.
    clientRevision: typeof payload['client_revision'] === 'number' ? payload['client_revision'] : 0,
    tokenId: jti,
    issuedAt: iat,
    expiresAt: exp,
  }
}

/** A scope and those that it includes, whoever registered them. */
export function withIncluded(scope: string): string[] {
  const service = scope.slice(0, scope.lastIndexOf(':'))
  if (scope.endsWith(':*')) return [scope, `${service}:read`, `${service}:write`]
  return scope.endsWith(':write') ? [scope, `${service}:read`] : [scope]
}

/**
 * False if a member occurs twice in the header or in the claims, because readers would disagree about its value. Also
 * false if the same bytes have another base64url text: a token has one form only.
 */
export function hasOneMeaning(token: string): boolean {
  const parts = token.split('.').map((part) => ({ part, bytes: Buffer.from(part, 'base64url') }))
  if (parts.some(({ part, bytes }) => bytes.toString('base64url') !== part)) return false
  try {
    for (const { bytes } of parts.slice(0, 2)) {
      const text = bytes.toString('utf8')
      readJsonText(text)
      requireOneMeaning(text)
    }
    return true
  } catch (error) {
    if (error instanceof Problem || error instanceof SyntaxError) return false
    throw error
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

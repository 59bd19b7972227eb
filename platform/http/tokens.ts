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
import { v7 as uuidv7 } from 'uuid'

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
  /** The client is a source of actor contexts (T23). */
  readonly trustedActorContext: boolean
}

export interface VerifiedToken extends TokenClaims {
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

export interface TokenIssuer {
  issue(claims: TokenClaims): Promise<IssuedToken>
  /** Rejects with `TokenRejectedError`. */
  verify(token: string): Promise<VerifiedToken>
  jwks(): Promise<{ readonly keys: readonly JWK[] }>
}

export interface TokenIssuerOptions {
  readonly keys: TokenKeys
  readonly issuer: string
  readonly audience: string
  readonly ttlSeconds: number
  readonly now?: () => Date
}

const algorithm = 'EdDSA'
const tokenType = 'at+jwt'
const skewSeconds = 5
const longestToken = 8192
/** An unknown key id causes a new read from the vault, but at most once per interval, whatever callers send. */
const keyRefreshMs = 5000

/**
 * Access tokens by RFC 9068: `typ: at+jwt`, EdDSA only (the header's `alg` never chooses), fixed audience and issuer.
 */
export function createTokenIssuer({
  keys,
  issuer,
  audience,
  ttlSeconds,
  now = () => new Date(),
}: TokenIssuerOptions): TokenIssuer {
  const verified = new LRUCache<string, VerifiedToken>({ max: 5000 })
  const publicKeyOf = createKeyLookup(keys, now)

  return {
    async issue(claims) {
      const { kid, privateKey } = await keys.signingKey('token')
      const issuedAt = Math.floor(now().getTime() / 1000)
      const scope = [...new Set(claims.scopes)].sort().join(' ')
      const token = await new SignJWT({ client_id: claims.clientId, scope, ...tenancyOf(claims) })
        .setProtectedHeader({ alg: algorithm, typ: tokenType, kid })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(claims.clientId)
        .setJti(uuidv7())
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + ttlSeconds)
        .sign(privateKey)
      return { access_token: token, token_type: 'Bearer', expires_in: ttlSeconds, scope }
    },

    async verify(token) {
      const nowSeconds = now().getTime() / 1000
      const known = verified.get(token)
      if (known !== undefined) {
        if (known.expiresAt <= nowSeconds) throw new TokenRejectedError('expired')
        return known
      }
      const payload = await verifySignature(token)
      const result = readClaims(payload)
      if (result.issuedAt > nowSeconds + skewSeconds) throw new TokenRejectedError('invalid')
      verified.set(token, result)
      return result
    },

    jwks: async () => ({ keys: await keys.publicKeys('token') }),
  }

  async function verifySignature(token: string): Promise<JWTPayload> {
    if (token.length > longestToken) throw new TokenRejectedError('invalid')
    try {
      const { kid } = decodeProtectedHeader(token)
      const key = kid === undefined ? undefined : await publicKeyOf(kid)
      if (key === undefined) throw new TokenRejectedError('invalid')
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
    if (!known.has(kid) && now().getTime() - readAt >= keyRefreshMs) {
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

function tenancyOf({ orgId, productId, trustedActorContext }: TokenClaims): JWTPayload {
  return {
    ...(orgId === null ? {} : { org_id: orgId }),
    ...(productId === null ? {} : { product_id: productId }),
    ...(trustedActorContext ? { trusted_actor_context: true } : {}),
  }
}

function readClaims(payload: JWTPayload): VerifiedToken {
  const { client_id: clientId, scope, jti, iat, exp } = payload
  if (
    typeof clientId !== 'string' ||
    typeof scope !== 'string' ||
    jti === undefined ||
    iat === undefined ||
    exp === undefined
  ) {
    throw new TokenRejectedError('invalid')
  }
  return {
    clientId,
    orgId: textOrNull(payload['org_id']),
    productId: textOrNull(payload['product_id']),
    scopes: scope.split(' ').filter((one) => one !== ''),
    trustedActorContext: payload['trusted_actor_context'] === true,
    tokenId: jti,
    issuedAt: iat,
    expiresAt: exp,
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

import { decodeProtectedHeader, errors, importJWK, jwtVerify } from 'jose'
import { hasOneMeaning } from '../../platform/http/tokens.ts'
import type { RegisteredOauthClient } from '../../streams/oauth-client/aggregate.ts'
import type { ClientKeys } from './client-keys.ts'

export interface AssertionRules {
  readonly client: RegisteredOauthClient
  /** The token endpoint. */
  readonly audience: string
  readonly keys: ClientKeys
  readonly now: Date
}

export interface VerifiedAssertion {
  readonly jti: string
  /** When nobody accepts the assertion any more. */
  readonly until: Date
}

/** The type of the key decides. The header's `alg` must agree. */
export const assertionAlgorithms = { RSA: 'RS384', EC: 'ES384' } as const
const types: readonly (string | undefined)[] = [undefined, 'JWT', 'client-authentication+jwt']
const longestLifeSeconds = 300
const skewSeconds = 5
const longestJti = 255

/** An assertion by RFC 7523, as SMART Backend Services profiles it; undefined if it does not prove the client. */
export async function verifyAssertion(
  assertion: string,
  { client, audience, keys, now }: AssertionRules,
): Promise<VerifiedAssertion | undefined> {
  try {
    const { kid, typ } = decodeProtectedHeader(assertion)
    if (typeof kid !== 'string' || !types.includes(typ) || !hasOneMeaning(assertion)) return undefined
    const key = await keys.keyOf(client, kid)
    if (key === undefined) return undefined
    const algorithm = assertionAlgorithms[key.kty]
    const { payload } = await jwtVerify(assertion, await importJWK({ ...key }, algorithm), {
      algorithms: [algorithm],
      issuer: client.clientId,
      subject: client.clientId,
      audience,
      requiredClaims: ['exp', 'jti'],
      clockTolerance: skewSeconds,
      currentDate: now,
    })
    const { exp = 0, iat = 0, jti, aud } = payload
    const nowSeconds = now.getTime() / 1000
    const isInTime = exp <= nowSeconds + longestLifeSeconds + skewSeconds && iat <= nowSeconds + skewSeconds
    const isForUsAlone = typeof aud === 'string' || aud?.length === 1
    if (!isInTime || !isForUsAlone || typeof jti !== 'string' || jti === '' || jti.length > longestJti) return undefined
    return { jti, until: new Date((exp + skewSeconds) * 1000) }
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError || isWrongKey(error)) return undefined
    throw error
  }
}

/** A registered key whose numbers are no key. */
function isWrongKey(error: unknown): boolean {
  return error instanceof DOMException
}

import type { KeyObject } from 'node:crypto'
import { createLocalJWKSet, errors, jwtVerify, SignJWT, type JWK, type JWTPayload, type JWTVerifyGetKey } from 'jose'
import { problem } from './problems.ts'
import { readActorContext, type ActorContext } from './actor-context.ts'

/** Fixed here, so no header can choose. An Ed25519 key verifies EdDSA, a P-256 key ES256. */
const algorithms = ['EdDSA', 'ES256']
/** Prevents the use of other signed tokens as actor contexts. */
const contextType = 'actor-context+jwt'
/** The longest life of a context, in seconds. */
export const longestContextLife = 300
const skewSeconds = 5

/** Signs claims as an actor context that the mode `signed` accepts. */
export async function signActorContext(
  claims: JWTPayload,
  { kid, privateKey }: { readonly kid: string; readonly privateKey: KeyObject },
  { issuedAt, expiresAt }: { readonly issuedAt: Date; readonly expiresAt: Date },
): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'EdDSA', typ: contextType, kid })
    .setIssuedAt(issuedAt)
    .setExpirationTime(expiresAt)
    .sign(privateKey)
}

/**
 * Mode `signed`: the header is a compact JWS, signed with one of the keys. It contains the key's id and the type of an
 * actor context (`typ`). Its issue and expiry times (`iat`, `exp`) are at most five minutes apart.
 */
export function createSignedActorContexts(
  keys: () => Promise<readonly JWK[]>,
  now: () => Date,
): (header: string) => Promise<ActorContext> {
  const keySet = createKeySet(keys)
  return async (header) => {
    const actor = readActorContext(header)
    try {
      const { payload, protectedHeader } = await jwtVerify(header, keySet, {
        algorithms,
        typ: contextType,
        requiredClaims: ['iat', 'exp'],
        maxTokenAge: longestContextLife,
        clockTolerance: skewSeconds,
        currentDate: now(),
      })
      const life = (payload.exp ?? 0) - (payload.iat ?? 0)
      if (protectedHeader.kid !== undefined && life <= longestContextLife) return actor
    } catch (error) {
      if (!(error instanceof errors.JOSEError || error instanceof TypeError)) throw error
    }
    throw problem('actor-context-invalid')
  }
}

/** Reads the keys for each context, because ours change. Imports them again only after a change. */
function createKeySet(keys: () => Promise<readonly JWK[]>): JWTVerifyGetKey {
  let imported: { readonly kids: string; readonly keySet: JWTVerifyGetKey } | undefined
  return async (header, token) => {
    const given = await keys()
    const kids = given.map(({ kid }) => kid).join()
    if (imported?.kids !== kids)
      imported = { kids, keySet: createLocalJWKSet({ keys: given.map((key) => ({ ...key })) }) }
    return imported.keySet(header, token)
  }
}

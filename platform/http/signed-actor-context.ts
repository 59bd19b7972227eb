import { createLocalJWKSet, errors, jwtVerify, type JWK } from 'jose'
import { problem } from './problems.ts'
import { readActorContext, type ActorContext } from './actor-context.ts'

/** Reads an X-Actor-Context header; rejects with `actor-context-invalid`. */
export type ReadSignedActorContext = (header: string) => Promise<ActorContext>

/** Fixed here, so no header can choose. An Ed25519 key verifies EdDSA, a P-256 key ES256. */
const algorithms = ['EdDSA', 'ES256']
/** Prevents the use of other signed tokens as actor contexts. */
const contextType = 'actor-context+jwt'
const longestLifeSeconds = 300
const skewSeconds = 5

/**
 * Mode `signed`: the header is a compact JWS, signed with one of the keys. It contains the key's id and the type of an
 * actor context (`typ`). Its issue and expiry times (`iat`, `exp`) are at most five minutes apart.
 */
export function createSignedActorContexts(keys: readonly JWK[], now: () => Date): ReadSignedActorContext {
  const keySet = createLocalJWKSet({ keys: keys.map((key) => ({ ...key })) })
  return async (header) => {
    const actor = readActorContext(header)
    try {
      const { payload, protectedHeader } = await jwtVerify(header, keySet, {
        algorithms,
        typ: contextType,
        requiredClaims: ['iat', 'exp'],
        maxTokenAge: longestLifeSeconds,
        clockTolerance: skewSeconds,
        currentDate: now(),
      })
      const life = (payload.exp ?? 0) - (payload.iat ?? 0)
      if (protectedHeader.kid !== undefined && life <= longestLifeSeconds) return actor
    } catch (error) {
      if (!(error instanceof errors.JOSEError || error instanceof TypeError)) throw error
    }
    throw problem('actor-context-invalid')
  }
}

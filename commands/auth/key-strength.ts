import { createPublicKey } from 'node:crypto'
import { Check } from 'typebox/schema'
import { ClientKey } from '../../streams/oauth-client/events.ts'

const base64url = /^[A-Za-z0-9_-]+$/
/** In characters. 8192 bits: a longer modulus would make each verification slow. */
export const longest = { n: 1366, e: 8 }

/**
 * Whether a key verifies signatures, and only its owner makes them. RSA needs 2048 bits and an odd exponent above 65536:
 * with a small one, verifiers that are careless about padding accept forgeries. An even modulus is no product of two
 * large primes: everybody can compute its private key. The numbers count, not their length as text: leading zeros make a
 * short modulus long.
 */
export function isUsableKey(key: unknown): key is ClientKey {
  if (!Check(ClientKey, key)) return false
  const numbers = key.kty === 'RSA' ? [key.n, key.e] : [key.x, key.y]
  if (!numbers.every((number) => base64url.test(number))) return false
  if (key.kty === 'RSA' && (key.n.length > longest.n || key.e.length > longest.e)) return false
  try {
    const { asymmetricKeyDetails: details } = createPublicKey({ key: { ...key }, format: 'jwk' })
    if (key.kty === 'EC') return details?.namedCurve === 'secp384r1'
    if ((Buffer.from(key.n, 'base64url').at(-1) ?? 0) % 2 === 0) return false
    const { modulusLength = 0, publicExponent = 0n } = details ?? {}
    return modulusLength >= 2048 && modulusLength <= 8192 && publicExponent > 65_536n && publicExponent % 2n === 1n
  } catch {
    return false
  }
}

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'

/** An Ed25519 key pair; `kid` is the RFC 7638 thumbprint of its public half. */
export interface SigningKey {
  readonly kid: string
  readonly privateKey: KeyObject
  /** Contains `kid`, `alg` (EdDSA) and `use` (sig). */
  readonly publicJwk: JWK
}

/** A key pair as the vault keeps it. */
export interface KeptSigningKey extends SigningKey {
  readonly createdAt: Date
}

/**
 * A new key signs after this time. Until then, verifiers that cached the key set (five minutes) and every process of
 * the platform (30 seconds) have read it.
 */
export const publishedAheadMs = 360_000

/** The longest life of a token (TOKEN_TTL_SECONDS is a day at most), and a minute for caches and clocks. */
const longestUseMs = 86_460_000

/** @param keys newest first */
export function signingKeyAt(keys: readonly KeptSigningKey[], now: Date): KeptSigningKey | undefined {
  return keys.find((key) => hasBegun(key, now)) ?? keys.at(-1)
}

/** The keys that sign, will sign, or signed tokens that may still be valid. */
export function publishedKeysAt(keys: readonly KeptSigningKey[], now: Date): readonly KeptSigningKey[] {
  return keys.filter((_, place) => {
    const successor = keys[place - 1]
    return successor === undefined || !hasBegun(successor, new Date(now.getTime() - longestUseMs))
  })
}

function hasBegun({ createdAt }: KeptSigningKey, at: Date): boolean {
  return at.getTime() - createdAt.getTime() >= publishedAheadMs
}

/** PKCS#8 DER of a new Ed25519 private key. */
export function newSigningSecret(): Uint8Array {
  const { privateKey } = generateKeyPairSync('ed25519')
  return new Uint8Array(privateKey.export({ type: 'pkcs8', format: 'der' }))
}

export async function signingKeyOf(secret: Uint8Array): Promise<SigningKey> {
  const privateKey = createPrivateKey({ key: Buffer.from(secret), type: 'pkcs8', format: 'der' })
  const { kty, crv, x } = createPublicKey(privateKey).export({ format: 'jwk' })
  if (kty !== 'OKP' || crv === undefined || x === undefined)
    throw new Error('a signing key of the vault is not Ed25519')
  const kid = await calculateJwkThumbprint({ kty, crv, x })
  return { kid, privateKey, publicJwk: { kty, crv, x, kid, alg: 'EdDSA', use: 'sig' } }
}

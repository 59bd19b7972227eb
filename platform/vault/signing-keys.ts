import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'

/** An Ed25519 key pair; `kid` is the RFC 7638 thumbprint of its public half. */
export interface SigningKey {
  readonly kid: string
  readonly privateKey: KeyObject
  /** Contains `kid`, `alg` (EdDSA) and `use` (sig). */
  readonly publicJwk: JWK
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

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import type { SigningPurpose } from '../kit/key-vault.ts'

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

/** Kind of the secrets of a purpose. */
export function signingKind(purpose: SigningPurpose): string {
  return `signing-${purpose}`
}

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

/** What a key does at an instant. */
export interface KeyStatus<Key> {
  readonly key: Key
  /**
   * `announced`: published, will sign. `signs`. `verifies`: what it signed still counts. `ended`: nothing that it signed
   * counts any more.
   */
  readonly status: 'announced' | 'signs' | 'verifies' | 'ended'
  readonly signsFrom: Date
  /** It signed nothing after this instant. Null if it signs now, or will. */
  readonly lastSignature: Date | null
}

/** @param keys newest first */
export function statusesAt<Key extends KeptSigningKey>(
  keys: readonly Key[],
  isLasting: boolean,
  now: Date,
): readonly KeyStatus<Key>[] {
  const signing = signingKeyAt(keys, now)
  const published = isLasting ? keys : publishedKeysAt(keys, now)
  const begin = ({ createdAt }: KeptSigningKey) => new Date(createdAt.getTime() + publishedAheadMs)
  const place = signing === undefined ? -1 : keys.findIndex(({ kid }) => kid === signing.kid)
  return keys.map((key, at) => {
    const successor = keys[at - 1]
    const isOver = at > place && successor !== undefined
    const verifies = published.some(({ kid }) => kid === key.kid) ? 'verifies' : 'ended'
    return {
      key,
      status: at === place ? 'signs' : at < place ? 'announced' : verifies,
      // The first key of a purpose signs at once.
      signsFrom: at === keys.length - 1 ? key.createdAt : begin(key),
      lastSignature: isOver ? begin(successor) : null,
    }
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

import { createHmac, createPublicKey, generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto'
import type { SigningKey } from '../../../platform/vault/signing-keys.ts'
import type { DecisionWorld } from '../../engine/commands/decision-world.ts'
import { baseUrl, type TestClient } from './auth-api.ts'

type Members = Readonly<Record<string, unknown>>

export type TokenMaker = ReturnType<typeof createTokenMaker>

/** Makes tokens of a client as the platform does, with the platform's own key, and with any member changed. */
export function createTokenMaker(world: DecisionWorld, client: TestClient, key: SigningKey) {
  const now = (fromNow = 0) => Math.floor(world.now().getTime() / 1000) + fromNow
  const header = (changes: Members = {}) => ({ alg: 'EdDSA', typ: 'at+jwt', kid: key.kid, ...changes })
  const claims = (changes: Members = {}) => ({
    client_id: client.clientId,
    scope: 'things:read',
    client_revision: 0,
    iss: `${baseUrl}/v1/auth`,
    aud: baseUrl,
    sub: client.clientId,
    jti: randomUUID(),
    iat: now(),
    exp: now(3600),
    ...changes,
  })
  /** A token that our own key signed, with other members. `undefined` leaves a member out. */
  const ours = (changes: Partial<ForgedToken> = {}) =>
    forge({ header: header(), claims: claims(), key: key.privateKey, ...changes })
  const withHeader = (changes: Members) => ours({ header: header(changes) })
  const withClaims = (changes: Members) => ours({ claims: claims(changes) })
  const publicPem = () => createPublicKey(key.privateKey).export({ format: 'pem', type: 'spki' }).toString()
  const publicBytes = () => Buffer.from(key.publicJwk.x ?? '', 'base64url')
  const parts = () => {
    const [head = '', payload = '', signature = ''] = ours().split('.')
    return { head, payload, signature }
  }
  /** Signed by a key of another purpose, which the token names. */
  const signedFor = async (purpose: 'receipt' | 'actor-context' | 'provenance') => {
    const { kid, privateKey } = await world.vault.signingKey(purpose)
    return ours({ header: header({ kid }), key: privateKey })
  }
  return {
    world,
    client,
    key,
    now,
    header,
    claims,
    ours,
    withHeader,
    withClaims,
    publicPem,
    publicBytes,
    parts,
    signedFor,
  }
}

/** A key pair of nobody. */
export const foreign = (type: 'ed25519' | 'rsa' | 'P-256' | 'P-384'): KeyObject =>
  type === 'ed25519'
    ? generateKeyPairSync('ed25519').privateKey
    : type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
      : generateKeyPairSync('ec', { namedCurve: type }).privateKey
export const publicJwk = (of: KeyObject) => createPublicKey(of).export({ format: 'jwk' })

/** The JSON text of the members, with one of them twice. */
export const twice = (members: Members, name: string, value: unknown) =>
  `${JSON.stringify(members).slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(value)}}`

/** Makes signed texts that no library would make: any header, any claims, any key. */
export interface ForgedToken {
  readonly header: Readonly<Record<string, unknown>> | string
  readonly claims: Readonly<Record<string, unknown>> | string
  /** A private key, the secret of an HMAC, or null for no signature. */
  readonly key: KeyObject | Uint8Array | string | null
  /** For keys whose algorithm needs one. */
  readonly digest?: 'sha256' | 'sha384' | 'sha512'
}

export function forge({ header, claims, key, digest = 'sha256' }: ForgedToken): string {
  const text = `${part(header)}.${part(claims)}`
  return `${text}.${signatureOf(text, key, digest)}`
}

function signatureOf(text: string, key: ForgedToken['key'], digest: string): string {
  if (key === null) return ''
  if (typeof key === 'string' || key instanceof Uint8Array)
    return createHmac(digest, key).update(text).digest('base64url')
  const isEdwards = key.asymmetricKeyType === 'ed25519'
  const signing = key.asymmetricKeyType === 'ec' ? ({ key, dsaEncoding: 'ieee-p1363' } as const) : key
  return sign(isEdwards ? null : digest, Buffer.from(text), signing).toString('base64url')
}

export function part(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}

/** Ed25519 has 64 bytes: the last character has four bits that count for nothing. */
export function otherBits(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return `${token.slice(0, -1)}${alphabet[alphabet.indexOf(token.at(-1) ?? '') + 1]}`
}

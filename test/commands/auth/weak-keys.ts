import { generateKeyPairSync, type JsonWebKey } from 'node:crypto'

const rsa = (modulusLength: number, publicExponent = 0x10001): JsonWebKey =>
  generateKeyPairSync('rsa', { modulusLength, publicExponent }).publicKey.export({ format: 'jwk' })
const elliptic = (namedCurve: string): JsonWebKey =>
  generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' })
const bytes = (...values: readonly number[]) => Buffer.from(values).toString('base64url')

const usual = rsa(2048)
const curve = elliptic('P-384')
/** Twenty zeros before a modulus make its text long, and the number stays small. */
const padded = (key: JsonWebKey): JsonWebKey => ({
  ...key,
  n: Buffer.concat([Buffer.alloc(300), Buffer.from(String(key.n), 'base64url')]).toString('base64url'),
})

export const strongKeys: Readonly<Record<string, JsonWebKey>> = {
  'RSA, 2048 bits': usual,
  'RSA, 3072 bits, exponent 65539': rsa(3072, 65_539),
  'P-384': curve,
}

export const weakKeys: Readonly<Record<string, JsonWebKey>> = {
  'RSA, 1024 bits': rsa(1024),
  'RSA, 1024 bits behind zeros': padded(rsa(1024)),
  'RSA, 2047 bits': rsa(2047),
  'RSA, exponent 3': rsa(2048, 3),
  'RSA, exponent 3 behind zeros': { ...usual, e: bytes(0, 0, 0, 3) },
  'RSA, exponent 1': { ...usual, e: bytes(1) },
  'RSA, exponent 65536': { ...usual, e: bytes(1, 0, 0) },
  'RSA, exponent 65535': { ...usual, e: bytes(255, 255) },
  'RSA, an even exponent': { ...usual, e: bytes(1, 0, 2) },
  'RSA, an even modulus': { ...usual, n: bytes(...Array.from({ length: 255 }, () => 0xc5), 0xc6) },
  'RSA, a power of two': { ...usual, n: bytes(0x80, ...Array.from({ length: 255 }, () => 0)) },
  'RSA, characters that are no base64url': { ...usual, n: `${usual.n}==` },
  'P-256': elliptic('P-256'),
  'a point that is not on the curve': { ...curve, y: String(curve.x) },
}

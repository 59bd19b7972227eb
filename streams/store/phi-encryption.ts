import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** How an encrypted member stands in stored data: base64url of iv (12 bytes), tag (16 bytes) and ciphertext. */
export interface SealedMember {
  readonly $phi: string
}

const ivBytes = 12
const tagBytes = 16

/** Binds a ciphertext to its place, so that it cannot be moved to another stream, event type or member. */
export function memberPlace(stream: string, type: string, member: string): string {
  return `${stream}\n${type}\n${member}`
}

/** Encrypts one JSON value with AES-256-GCM. */
export function sealMember(key: Uint8Array, place: string, value: unknown): SealedMember {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(Buffer.from(place, 'utf8'))
  const ciphertext = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
  return { $phi: Buffer.concat([iv, cipher.getAuthTag(), ciphertext]).toString('base64url') }
}

/** Reverses `sealMember`; throws when the key is another one or the ciphertext was changed or moved. */
export function openMember(key: Uint8Array, place: string, sealed: SealedMember): unknown {
  const bytes = Buffer.from(sealed.$phi, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(place, 'utf8'))
  decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
  const plaintext = Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()])
  return JSON.parse(plaintext.toString('utf8'))
}

export function isSealed(value: unknown): value is SealedMember {
  return typeof value === 'object' && value !== null && '$phi' in value && typeof value.$phi === 'string'
}

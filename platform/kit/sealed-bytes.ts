import { createCipheriv, createDecipheriv, createHash, timingSafeEqual, type KeyObject } from 'node:crypto'
import { randomPart } from './random-bytes.ts'

const ivBytes = 12
const tagBytes = 16

/**
 * AES-256-GCM with a 32-byte key: iv (12 bytes), tag (16 bytes), ciphertext. `place` binds the bytes to their location,
 * so they open nowhere else. The key is an object, because raw bytes would be imported for each call (12 µs of 16).
 */
export function sealBytes(key: KeyObject, place: string, bytes: Uint8Array): Buffer {
  const iv = randomPart(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(Buffer.from(place, 'utf8'))
  const ciphertext = Buffer.concat([cipher.update(bytes), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), ciphertext])
}

/** Reverses `sealBytes`. Throws if key, place or bytes differ. */
export function openBytes(key: KeyObject, place: string | Uint8Array, sealed: Uint8Array): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, ivBytes), {
    authTagLength: tagBytes,
  })
  decipher.setAAD(typeof place === 'string' ? Buffer.from(place, 'utf8') : place)
  decipher.setAuthTag(sealed.subarray(ivBytes, ivBytes + tagBytes))
  const bytes = decipher.update(sealed.subarray(ivBytes + tagBytes))
  // Adds no bytes in this mode. It throws if the tag does not fit.
  decipher.final()
  return bytes
}

/** Compares digests, so the duration shows neither content nor length. */
export function areEqualSecrets(given: string, expected: string): boolean {
  return timingSafeEqual(createHash('sha256').update(given).digest(), createHash('sha256').update(expected).digest())
}

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const ivBytes = 12
const tagBytes = 16

/**
 * AES-256-GCM with a key of 32 bytes: iv (12 bytes), tag (16 bytes), ciphertext. `place` binds the bytes to where they
 * lie, so that they open nowhere else.
 */
export function sealBytes(key: Uint8Array, place: string, bytes: Uint8Array): Buffer {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(Buffer.from(place, 'utf8'))
  const ciphertext = Buffer.concat([cipher.update(bytes), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), ciphertext])
}

/** Reverses `sealBytes`; throws when the key or the place is another one, or the bytes were changed. */
export function openBytes(key: Uint8Array, place: string, sealed: Uint8Array): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, ivBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(place, 'utf8'))
  decipher.setAuthTag(sealed.subarray(ivBytes, ivBytes + tagBytes))
  return Buffer.concat([decipher.update(sealed.subarray(ivBytes + tagBytes)), decipher.final()])
}

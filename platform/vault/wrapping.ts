import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { MasterKeyError, type MasterKeyRing } from './master-keys.ts'

/** A secret as the database holds it: iv (12 bytes), tag (16 bytes), ciphertext. */
export interface WrappedSecret {
  readonly wrapped: Uint8Array
  readonly masterKeyId: string
}

const ivBytes = 12
const tagBytes = 16

/** Wraps with AES-256-GCM, bound to kind and id, so that rows cannot be exchanged for one another. */
export function wrapSecret({ wrapWith }: MasterKeyRing, kind: string, id: string, secret: Uint8Array): WrappedSecret {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', wrapWith.key, iv)
  cipher.setAAD(place(kind, id))
  const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()])
  return { wrapped: Buffer.concat([iv, cipher.getAuthTag(), ciphertext]), masterKeyId: wrapWith.id }
}

/** @throws MasterKeyError when the ring lacks the master key or the row was changed */
export function unwrapSecret(ring: MasterKeyRing, kind: string, id: string, { wrapped, masterKeyId }: WrappedSecret): Uint8Array {
  const master = ring.byId.get(masterKeyId)
  if (master === undefined) throw new MasterKeyError(`the vault needs master key ${masterKeyId}, which is not in the ring`)
  const decipher = createDecipheriv('aes-256-gcm', master.key, wrapped.subarray(0, ivBytes), { authTagLength: tagBytes })
  decipher.setAAD(place(kind, id))
  decipher.setAuthTag(wrapped.subarray(ivBytes, ivBytes + tagBytes))
  try {
    return new Uint8Array(Buffer.concat([decipher.update(wrapped.subarray(ivBytes + tagBytes)), decipher.final()]))
  } catch {
    throw new MasterKeyError(`a ${kind} key of the vault does not open with master key ${masterKeyId}`)
  }
}

function place(kind: string, id: string): Buffer {
  return Buffer.from(`${kind}\n${id}`, 'utf8')
}

import { createHmac, createSecretKey } from 'node:crypto'

/** Base64url HMAC-SHA-256 over an event's id, its type and the JSON text that is stored as its data. */
export type Signer = (id: string, type: string, storedData: string) => string

export function createSigner(signingKey: Uint8Array): Signer {
  // A key object, since createHmac on raw bytes imports the key anew each time (12 µs against 2).
  const key = createSecretKey(signingKey)
  return (id, type, storedData) => createHmac('sha256', key).update(`${id}\n${type}\n${storedData}`).digest('base64url')
}

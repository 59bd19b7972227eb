import { createHash } from 'node:crypto'

/** A stream of bytes was not what was announced. */
export class WrongBytesError extends Error {
  override readonly name = 'WrongBytesError'
}

/**
 * Passes chunks on, but the last one only once all are known to be of that length and hash (hex SHA-256): whoever takes a
 * body of known length never gets the whole of anything else.
 * @throws WrongBytesError
 */
export async function* exactly(
  chunks: AsyncIterable<Uint8Array>,
  { bytes, sha256 }: { readonly bytes: number; readonly sha256: string },
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  let received = 0
  let held: Uint8Array | undefined
  for await (const chunk of chunks) {
    if (chunk.length === 0) continue
    received += chunk.length
    if (received > bytes) break
    if (held !== undefined) yield held
    hash.update(chunk)
    held = chunk
  }
  if (received !== bytes || hash.digest('hex') !== sha256)
    throw new WrongBytesError('not the bytes that were announced')
  if (held !== undefined) yield held
}

import { createHash } from 'node:crypto'

/** A byte stream differs from its announced length or hash. */
export class WrongBytesError extends Error {
  override readonly name = 'WrongBytesError'
}

/**
 * Passes chunks on, but holds back the last one until length and hash (hex SHA-256) match. A consumer that waits for
 * the known length never gets a complete wrong body.
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
    throw new WrongBytesError('the bytes differ from the announced length or hash')
  if (held !== undefined) yield held
}

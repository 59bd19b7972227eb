import type { Readable } from 'node:stream'

/**
 * Reads a stream to its end and keeps at most `mostBytes`. Undefined if it was longer: the rest is read and dropped,
 * because a sender looks for an answer only after its last byte.
 */
export async function readAtMost(stream: Readable, mostBytes: number): Promise<Buffer | undefined> {
  let chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= mostBytes) chunks.push(chunk)
    else chunks = []
  }
  return bytes > mostBytes ? undefined : Buffer.concat(chunks)
}

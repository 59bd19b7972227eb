import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { problem } from './problems.ts'
import { createGrowingBytes } from './growing-bytes.ts'

/** Reads a body while it arrives. Its error becomes the answer after the sender has finished. */
export interface BodyReader {
  /** Called before the first chunk, unless the announced length alone is refused. */
  begin?(): void
  /** Takes a chunk. The next one waits for the result. */
  take(chunk: Buffer): Promise<void> | void
}

/** @throws Problem `body-too-large`, `malformed-body`, `unsupported-media-type` */
export async function wholeBody(request: FastifyRequest, payload: Readable, mostBytes: number): Promise<Buffer> {
  const body = createGrowingBytes(mostBytes)
  await readBody(request, payload, mostBytes, { take: (chunk) => body.add(chunk) })
  return body.all()
}

/**
 * Reads a body to its end, even after a refusal, because a client that still sends does not read the answer. Stops at
 * twice the limit.
 * @throws Problem `body-too-large`, `malformed-body`, `unsupported-media-type`, and the reader's errors
 */
export async function readBody(
  request: FastifyRequest,
  payload: Readable,
  mostBytes: number,
  reader: BodyReader,
): Promise<void> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > 2 * mostBytes) throw problem('body-too-large')
  let received = 0
  let refusal = await refusalOf(() => {
    reader.begin?.()
    requirePlainEncoding(request.headers['content-encoding'])
    if (announced > mostBytes) throw problem('body-too-large')
  })
  try {
    // Leaving the loop must not destroy the request: it would lose its socket, and with it the caller's address.
    for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      received += chunk.length
      if (received > mostBytes) refusal ??= problem('body-too-large')
      if (received > 2 * mostBytes) break
      refusal ??= await refusalOf(() => reader.take(chunk))
    }
  } catch (error) {
    throw problem('malformed-body', { cause: error })
  }
  if (refusal !== undefined) throw refusal
}

/** Bodies are never decompressed: a small one could expand to an enormous one. */
function requirePlainEncoding(encoding: string | undefined): void {
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw problem('unsupported-media-type')
}

async function refusalOf(work: () => Promise<void> | void): Promise<unknown> {
  try {
    await work()
    return undefined
  } catch (error) {
    return error
  }
}

import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { problem } from './problems.ts'
import { createGrowingBytes } from './growing-bytes.ts'

/** After this time a body has ended, or more than `smallBytes` of it have arrived. */
export const smallBodyMs = 20_000
const smallBytes = 16 * 1024

/** Reads a body while it arrives. Its error ends the reading. */
export interface BodyReader {
  /** Called before the first chunk, unless the head alone is refused. */
  begin?(): void
  /** Takes a chunk. The next one waits for the result. */
  take(chunk: Buffer): Promise<void> | void
}

/** @throws Problem `body-too-large`, `malformed-body`, `request-timeout`, `unsupported-media-type` */
export async function wholeBody(request: FastifyRequest, payload: Readable, mostBytes: number): Promise<Buffer> {
  const body = createGrowingBytes(mostBytes)
  await readBody(request, payload, mostBytes, { take: (chunk) => body.add(chunk) })
  return body.all()
}

/**
 * Reads a body to its end. A refusal waits for no more of it: a sender may never send the rest. `closeGently` sees to
 * it that a sender that still sends can read the answer.
 * @throws Problem `body-too-large`, `malformed-body`, `request-timeout`, `unsupported-media-type`, the reader's errors
 */
export async function readBody(
  request: FastifyRequest,
  payload: Readable,
  mostBytes: number,
  reader: BodyReader,
): Promise<void> {
  requirePlainEncoding(request.headers['content-encoding'])
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) throw problem('body-too-large')
  reader.begin?.()
  let received = 0
  const ended = Promise.withResolvers<void>()
  // A paused body waits for its reader, not for its sender.
  const timer = setTimeout(() => {
    if (received <= smallBytes && !payload.isPaused()) ended.reject(problem('request-timeout'))
  }, smallBodyMs)
  const onError = (cause: Error): void => ended.reject(problem('malformed-body', { cause }))
  const onData = (chunk: Buffer): void => {
    received += chunk.length
    if (received > mostBytes) ended.reject(problem('body-too-large'))
    else void takeChunk(chunk).catch(ended.reject)
  }
  const takeChunk = async (chunk: Buffer): Promise<void> => {
    const taken = reader.take(chunk)
    if (taken === undefined) return
    payload.pause()
    await taken
    payload.resume()
  }
  payload.on('data', onData).once('end', ended.resolve).once('error', onError)
  try {
    await ended.promise
  } finally {
    clearTimeout(timer)
    // Without its listeners the payload must not be destroyed: it would lose its socket, and with it the caller's address.
    payload.off('data', onData).off('end', ended.resolve).off('error', onError)
  }
}

/** Bodies are never decompressed: a small one could expand to an enormous one. */
function requirePlainEncoding(encoding: string | undefined): void {
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw problem('unsupported-media-type')
}

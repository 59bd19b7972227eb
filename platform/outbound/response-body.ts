import { Transform, pipeline, type Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { EgressError, toEgressError } from './egress-error.ts'

/**
 * The body, ended with `body_too_large` as soon as it exceeds `maxBytes` (at once if its length is announced). All
 * other failures are `EgressError` too.
 */
export function limitBytes(body: Readable, contentLength: string | string[] | undefined, maxBytes: number): Readable {
  let received = 0
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length
      if (received > maxBytes) done(new EgressError('body_too_large', { mayHaveBeenSent: true }))
      else done(null, chunk)
    },
    destroy(error, done) {
      done(error === null ? null : toEgressError(error))
    },
  })
  pipeline(body, limited, () => undefined)
  if (typeof contentLength === 'string' && Number(contentLength) > maxBytes) {
    limited.destroy(new EgressError('body_too_large', { mayHaveBeenSent: true }))
  }
  return limited
}

export async function readAll(body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** For a longer remainder, a new connection is cheaper. */
const mostDrainedBytes = 64 * 1024
const mostDrainedMs = 1_000

/** Reads a body to its end to keep its connection. Destroys a long or slow body. Never rejects. */
export async function drain(body: Readable): Promise<void> {
  let dropped = 0
  const timer = setTimeout(() => body.destroy(), mostDrainedMs)
  body.on('data', (chunk: Buffer) => {
    dropped += chunk.length
    if (dropped > mostDrainedBytes) body.destroy()
  })
  await finished(body).catch(() => undefined)
  clearTimeout(timer)
}

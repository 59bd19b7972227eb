import { Readable } from 'node:stream'
import { PutObjectCommand, type S3Client, S3ServiceException } from '@aws-sdk/client-s3'
import { backoffMs, pause } from '../kit/backoff.ts'
import { exactly, WrongBytesError } from '../kit/exact-bytes.ts'
import { Problem, problem } from '../http/problems.ts'

/** The key of stored bytes and their hash (hex SHA-256). */
export interface StoredBytes {
  readonly key: string
  readonly sha256: string
  readonly bytes: number
}

/** The client retries only bodies in memory. Streams are retried here. */
const attempts = 3
const backoff = { firstMs: 100, mostMs: 1_000 }

/**
 * Stores a byte stream (`ObjectStore.putStream`).
 * @throws Problem `object-store-unavailable`, and the source's error if it is a problem
 */
export async function uploadStream(
  { client, bucket, limitMs }: { readonly client: S3Client; readonly bucket: string; readonly limitMs: number },
  { key, contentType, bytes, sha256 }: StoredBytes & { readonly contentType: string },
  chunks: () => AsyncIterable<Uint8Array>,
): Promise<StoredBytes> {
  const late = new AbortController()
  let timer: NodeJS.Timeout | undefined

  /** The store has its time for each chunk. A restore reads the next one meanwhile, perhaps over a slow line. */
  async function* timed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    clearTimeout(timer)
    for await (const chunk of source) {
      begin()
      yield chunk
      clearTimeout(timer)
    }
    begin()
  }

  function begin(): void {
    clearTimeout(timer)
    timer = setTimeout(() => late.abort(new DOMException('no progress in time', 'TimeoutError')), limitMs).unref()
  }

  for (let attempt = 1; ; attempt += 1) {
    const body = Readable.from(timed(exactly(chunks(), { bytes, sha256 })), { objectMode: false })
    const broken = new AbortController()
    // The client does not notice that its source failed.
    body.once('error', (error) => broken.abort(error))
    try {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: body,
        ContentType: contentType,
        ContentLength: bytes,
      })
      begin()
      // The client's own limit is for the whole request.
      await client.send(command, { abortSignal: AbortSignal.any([broken.signal, late.signal]), requestTimeout: 0 })
      return { key, sha256, bytes }
    } catch (error) {
      const cause: unknown = body.errored ?? error
      if (attempt === attempts || late.signal.aborted || !mayPass(cause))
        throw cause instanceof Problem ? cause : unavailable(cause)
      await pause(backoffMs(backoff, attempt))
    } finally {
      clearTimeout(timer)
      body.destroy()
    }
  }
}

function mayPass(error: unknown): boolean {
  const status = statusOf(error)
  return !(error instanceof WrongBytesError) && (status === undefined || status >= 500 || status === 429)
}

/** The HTTP status of the object store's refusal; undefined without an answer. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
}

export function unavailable(cause?: unknown): Problem {
  return problem('object-store-unavailable', { retryAfterSeconds: 2, cause })
}

/** Makes every failure of a call a problem, a refusal too. */
export async function outside<Output>(called: Promise<Output>): Promise<Output> {
  try {
    return await called
  } catch (error) {
    throw unavailable(error)
  }
}

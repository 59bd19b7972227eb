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

/** Time limit for all bytes of an object: a store that stops reading must not block a request for ever. */
const timeoutMs = 60_000

/** The client retries only bodies in memory. Streams are retried here. */
const attempts = 3
const backoff = { firstMs: 100, mostMs: 1_000 }

/**
 * Stores a byte stream (`ObjectStore.putStream`).
 * @throws Problem `object-store-unavailable`, and the source's error if it is a problem
 */
export async function uploadStream(
  { client, bucket }: { readonly client: S3Client; readonly bucket: string },
  { key, contentType, bytes, sha256 }: StoredBytes & { readonly contentType: string },
  chunks: () => AsyncIterable<Uint8Array>,
): Promise<StoredBytes> {
  const deadline = AbortSignal.timeout(timeoutMs)
  for (let attempt = 1; ; attempt += 1) {
    const body = Readable.from(exactly(chunks(), { bytes, sha256 }), { objectMode: false })
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
      await client.send(command, { abortSignal: AbortSignal.any([broken.signal, deadline]) })
      return { key, sha256, bytes }
    } catch (error) {
      const cause: unknown = body.errored ?? error
      if (attempt === attempts || deadline.aborted || !mayPass(cause))
        throw cause instanceof Problem ? cause : unavailable(cause)
      await pause(backoffMs(backoff, attempt))
    } finally {
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

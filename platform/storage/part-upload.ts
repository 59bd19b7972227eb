import { createHash } from 'node:crypto'
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { Problem } from '../http/problems.ts'
import type { BoundedCalls } from './bounded-calls.ts'
import { outside, statusOf, unavailable, type StoredBytes } from './stream-upload.ts'

interface Bucket {
  readonly client: S3Client
  readonly bucket: string
}

interface NewObject {
  readonly key: string
  readonly contentType: string
}

/** S3 takes 10,000 parts of at least 5 MiB: objects of 80 GB. */
const partBytes = 8 * 1024 ** 2
/** Parts under way. Each is in memory until it is stored. */
const mostUnderWay = 2

/** Stores a byte stream of unknown length (`ObjectStore.putParts`). The client repeats a part, because it is in memory. */
export async function uploadParts(
  store: Bucket,
  { key, contentType }: NewObject,
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<StoredBytes> {
  const { client, bucket } = store
  const of = { Bucket: bucket, Key: key }
  const begin = new CreateMultipartUploadCommand({ ...of, ContentType: contentType })
  const { UploadId } = await outside(client.send(begin, { abortSignal: signal }))
  if (UploadId === undefined) throw unavailable()
  const hash = createHash('sha256')
  const parts: CompletedPart[] = []
  const underWay = new Set<Promise<void>>()
  let bytes = 0
  let number = 0

  async function send(body: Uint8Array): Promise<void> {
    number += 1
    const part = { PartNumber: number }
    const sending = outside(
      client.send(new UploadPartCommand({ ...of, ...part, UploadId, Body: body, ContentLength: body.length }), {
        abortSignal: signal,
      }),
    ).then(({ ETag }) => {
      if (ETag === undefined) throw unavailable()
      parts.push({ ...part, ETag })
    })
    underWay.add(sending)
    // A failure is thrown where the next part or the end waits.
    sending.then(
      () => underWay.delete(sending),
      () => undefined,
    )
    if (underWay.size >= mostUnderWay) await Promise.race(underWay)
  }

  try {
    for await (const part of untilAborted(inParts(chunks), signal)) {
      hash.update(part)
      bytes += part.length
      await send(part)
    }
    if (number === 0) await send(new Uint8Array())
    await Promise.all(underWay)
    await complete(store, key, UploadId, parts, bytes)
    return { key, sha256: hash.digest('hex'), bytes }
  } catch (error) {
    await Promise.allSettled(underWay)
    await client.send(new AbortMultipartUploadCommand({ ...of, UploadId })).catch(() => undefined)
    throw error
  }
}

/** A repeat of a completion whose answer was lost finds no upload, and the object. */
async function complete(
  { client, bucket }: Bucket,
  key: string,
  uploadId: string,
  parts: readonly CompletedPart[],
  bytes: number,
): Promise<void> {
  const Parts = parts.toSorted((one, other) => (one.PartNumber ?? 0) - (other.PartNumber ?? 0))
  const of = { Bucket: bucket, Key: key }
  try {
    await client.send(new CompleteMultipartUploadCommand({ ...of, UploadId: uploadId, MultipartUpload: { Parts } }))
  } catch (error) {
    if (statusOf(error) !== 404) throw unavailable(error)
    const found = await client.send(new HeadObjectCommand(of)).catch(() => undefined)
    if (found?.ContentLength !== bytes) throw unavailable(error)
  }
}

/** Ends unfinished uploads (`ObjectStore.abandonParts`). */
export async function abandonParts({ client, bucket, bounded }: BoundedCalls, prefix: string): Promise<void> {
  const list = new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix })
  const { Uploads = [] } = await outside(bounded((ending) => client.send(list, ending)))
  for (const { Key, UploadId } of Uploads) {
    if (Key?.startsWith(prefix) !== true || UploadId === undefined) continue
    const abort = new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId })
    await outside(bounded((ending) => client.send(abort, ending))).catch((error: unknown) => {
      // It has ended meanwhile.
      if (!(error instanceof Problem && statusOf(error.cause) === 404)) throw error
    })
  }
}

/** The bytes in parts of equal length. The last one may be shorter. */
async function* inParts(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let part = Buffer.allocUnsafe(partBytes)
  let filled = 0
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length;) {
      const taken = Math.min(chunk.length - from, partBytes - filled)
      part.set(chunk.subarray(from, from + taken), filled)
      filled += taken
      from += taken
      if (filled < partBytes) continue
      yield part
      part = Buffer.allocUnsafe(partBytes)
      filled = 0
    }
  }
  if (filled > 0) yield part.subarray(0, filled)
}

/** Ends with the reason of the signal, even if the source hangs. */
async function* untilAborted<Item>(
  items: AsyncGenerator<Item, void, undefined>,
  signal: AbortSignal,
): AsyncGenerator<Item, void, undefined> {
  try {
    for (;;) {
      const next = await nextOf(items, signal)
      if (next.done === true) return
      yield next.value
    }
  } finally {
    // It may never answer.
    items.return().catch(() => undefined)
  }
}

/** A race with one promise for all items would keep each of them in memory. */
function nextOf<Item>(
  items: AsyncGenerator<Item, void, undefined>,
  signal: AbortSignal,
): Promise<IteratorResult<Item, void>> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    items
      .next()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', abort))
  })
}

import { createHash } from 'node:crypto'
import { addAbortSignal, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import type { BoundedCalls } from './bounded-calls.ts'
import { outside, statusOf, unavailable, type StoredBytes, uploadStream } from './stream-upload.ts'
import { listVersions, removeVersions, type KeptObject } from './removed-versions.ts'
import { abandonParts, uploadParts } from './part-upload.ts'
import { createAddressSigner, type AddressSigner, type PresignedRequest } from './presigned-address.ts'
import { Problem } from '../http/problems.ts'
import { memberOf } from '../outbound/outside-answers.ts'
import type { OutsideCalls } from '../outbound/outside-calls.ts'

export interface ObjectStoreOptions {
  readonly endpoint: string
  /** The store's address for clients; default: the endpoint itself. */
  readonly publicEndpoint?: string | undefined
  readonly region: string
  readonly bucket: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly now: () => Date
  /** Time limit of one call, its repeats included. Default: 20 s. */
  readonly callLimitMs?: number
  /** How long a reader waits for the bytes of an object, all waits together. Default: 60 s, and as long as a call. */
  readonly readLimitMs?: number
  /** How long the store may take for each chunk of an upload of a stream. Default: 60 s, and as long as a call. */
  readonly chunkLimitMs?: number
  /** Notes the outcome of each call, repeats included. */
  readonly calls?: OutsideCalls
}

/** The version of an object at one moment. */
export interface ObjectVersion {
  readonly etag: string
  readonly bytes: number
}

/** The bytes of one version, even if the object changes meanwhile. */
interface ReadObject extends ObjectVersion {
  readonly contentType?: string
  /** Can be read once. Fails with Problem `object-store-unavailable`. */
  readonly chunks: AsyncIterable<Buffer>
}

/** An object from a list by key prefix. */
export interface ListedObject {
  readonly key: string
  /** By the store's clock. */
  readonly modifiedAt: Date
}

/** An address that needs no other credentials until it expires. */
export interface SignedAddress {
  readonly url: string
  readonly expiresAt: Date
}

/** Image bytes and raw provider responses. Events refer to them by key, hash and length. */
export interface ObjectStore {
  /**
   * Stores bytes under a unique key. They are durable when it resolves.
   * @throws Problem `object-store-unavailable`
   */
  put(key: string, bytes: Uint8Array, contentType: string): Promise<StoredBytes>
  /**
   * The same for a byte stream of known length and hash. `chunks` restarts for each attempt and does not reuse chunks.
   * Other bytes are not stored.
   * @throws Problem `object-store-unavailable`
   */
  putStream(
    key: string,
    chunks: () => AsyncIterable<Uint8Array>,
    known: Omit<StoredBytes, 'key'>,
    contentType: string,
  ): Promise<StoredBytes>
  /**
   * The same for a byte stream of unknown length, in parts: a few parts are in memory at a time. Nothing is stored if the
   * source fails, or if the signal aborts.
   * @throws Problem `object-store-unavailable`, and the source's error
   */
  putParts(
    key: string,
    chunks: AsyncIterable<Uint8Array>,
    contentType: string,
    signal: AbortSignal,
  ): Promise<StoredBytes>
  /**
   * Ends the uploads in parts that a crash left, of keys with the prefix.
   * @throws Problem `object-store-unavailable`
   */
  abandonParts(prefix: string): Promise<void>
  /**
   * All bytes of an object.
   * @throws Problem `object-store-unavailable` without an answer; otherwise the client's error, also for a missing object
   */
  get(key: string): Promise<Uint8Array>
  /**
   * Objects whose key starts with the prefix, in any order.
   * @throws Problem `object-store-unavailable`
   */
  list(prefix: string): AsyncIterable<ListedObject>
  /**
   * The same with everything that the store keeps under each key: older versions, and marks of deletion.
   * @throws Problem `object-store-unavailable`
   */
  listVersions(prefix: string): AsyncIterable<KeptObject>
  /**
   * The current version under a key; undefined if there is none.
   * @throws Problem `object-store-unavailable`
   */
  head(key: string, signal?: AbortSignal): Promise<ObjectVersion | undefined>
  /**
   * Undefined if there is no object.
   * @throws Problem `object-store-unavailable`
   */
  read(key: string): Promise<ReadObject | undefined>
  /**
   * Copies one version to a unique key. False if the source is no longer that version.
   * @throws Problem `object-store-unavailable`
   */
  copy(source: { readonly key: string; readonly etag: string }, key: string): Promise<boolean>
  /**
   * Removes an object if it is there. A store that keeps versions only hides it then. With the id of a version, that one
   * is gone.
   * @throws Problem `object-store-unavailable` without an answer; otherwise the client's error
   */
  remove(key: string, versionId?: string): Promise<void>
  /**
   * Removes all objects whose key starts with the prefix, in every version that the store keeps.
   * @returns how many
   * @throws Problem `object-store-unavailable`
   */
  removeVersions(prefix: string): Promise<number>
  /** The address without a signature. It names the object and opens nothing. */
  address(key: string): string
  /** Signed read address for the platform's own services. */
  presignRead(key: string, ttlSeconds: number): Promise<SignedAddress>
  /** Signed read address for clients. */
  presignDownload(key: string, ttlSeconds: number): Promise<SignedAddress>
  /**
   * Signed write address for clients: replaces the object. The request must have that Content-Type, and that
   * Content-Length if one is given.
   */
  presignWrite(key: string, contentType: string, ttlSeconds: number, bytes?: number): Promise<SignedAddress>
  close(): void
}

/** Connects to an S3-compatible store. Uses only calls that every such store supports. */
export function connectObjectStore(options: ObjectStoreOptions): ObjectStore {
  const { bucket, now, callLimitMs = defaultCallLimitMs } = options
  const leastMs = Math.max(defaultReadLimitMs, callLimitMs)
  const { readLimitMs = leastMs, chunkLimitMs = leastMs } = options
  const client = clientOf(options)
  const signer = createAddressSigner(options)
  const publicSigner = createAddressSigner({ ...options, endpoint: options.publicEndpoint ?? options.endpoint })

  function sign(
    by: AddressSigner,
    method: PresignedRequest['method'],
    key: string,
    ttlSeconds: number,
    body: Pick<PresignedRequest, 'contentType' | 'contentLength'> = {},
  ): SignedAddress {
    const signedAt = wholeSecond(now())
    const url = by.presign({ method, path: `/${bucket}/${key}`, signedAt, ttlSeconds, ...body })
    return { url, expiresAt: new Date(signedAt.getTime() + ttlSeconds * 1000) }
  }

  const bounded: BoundedCalls['bounded'] = async (call, callers) => {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new DOMException('no answer in time', 'TimeoutError')), callLimitMs)
    try {
      return await call({ abortSignal: callers === undefined ? late.signal : AbortSignal.any([late.signal, callers]) })
    } finally {
      clearTimeout(timer)
    }
  }

  async function* list(prefix: string): AsyncGenerator<ListedObject, void, undefined> {
    let token: string | undefined
    do {
      const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: token })
      const page = bounded((ending) => client.send(command, ending))
      const { Contents = [], NextContinuationToken } = await outside(page)
      for (const { Key, LastModified } of Contents) {
        if (Key === undefined || LastModified === undefined) throw unavailable()
        yield { key: Key, modifiedAt: LastModified }
      }
      token = NextContinuationToken
    } while (token !== undefined)
  }

  /** A store that keeps none is asked once: each refusal would count as a failed call. */
  let keepsVersions = true

  return {
    async put(key, bytes, contentType) {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: bytes,
        ContentType: contentType,
        ContentLength: bytes.length,
      })
      await outside(bounded((ending) => client.send(command, ending)))
      return { key, sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length }
    },

    putStream: (key, chunks, known, contentType) =>
      uploadStream({ client, bucket, limitMs: chunkLimitMs }, { key, contentType, ...known }, chunks),

    putParts: (key, chunks, contentType, signal) =>
      uploadParts({ client, bucket }, { key, contentType }, chunks, signal),

    abandonParts: (prefix) => abandonParts({ client, bucket, bounded }, prefix),

    async get(key) {
      const command = new GetObjectCommand({ Bucket: bucket, Key: key })
      return answered(
        bounded(async (ending) => {
          const { Body } = await client.send(command, ending)
          if (!(Body instanceof Readable)) throw unavailable()
          return buffer(addAbortSignal(ending.abortSignal, Body))
        }),
      )
    },

    list,

    async *listVersions(prefix) {
      if (keepsVersions) keepsVersions = yield* listVersions({ client, bucket, bounded }, prefix)
      if (keepsVersions) return
      for await (const { key, modifiedAt } of list(prefix)) yield { key, versions: [{ id: undefined, modifiedAt }] }
    },

    async head(key, signal) {
      const command = new HeadObjectCommand({ Bucket: bucket, Key: key })
      const found = await unlessMissing(bounded((ending) => client.send(command, ending), signal))
      return found === undefined ? undefined : versionOf(found)
    },

    async read(key) {
      const command = new GetObjectCommand({ Bucket: bucket, Key: key })
      const found = await unlessMissing(bounded((ending) => client.send(command, ending)))
      if (found === undefined) return undefined
      if (!(found.Body instanceof Readable)) throw unavailable()
      const body = addAbortSignal(AbortSignal.timeout(abandonedMs), found.Body)
      const type = found.ContentType === undefined ? {} : { contentType: found.ContentType }
      return { ...versionOf(found), ...type, chunks: chunksOf(body, readLimitMs) }
    },

    async copy(source, key) {
      const CopySource = `${bucket}/${source.key.split('/').map(encodeURIComponent).join('/')}`
      const command = new CopyObjectCommand({ Bucket: bucket, Key: key, CopySource, CopySourceIfMatch: source.etag })
      try {
        return (await unlessMissing(bounded((ending) => client.send(command, ending)))) !== undefined
      } catch (error) {
        if (error instanceof Problem && statusOf(error.cause) === 412) return false
        throw error
      }
    },

    async remove(key, versionId) {
      const command = new DeleteObjectCommand({ Bucket: bucket, Key: key, VersionId: versionId })
      await answered(bounded((ending) => client.send(command, ending)))
    },

    removeVersions: (prefix) => removeVersions({ client, bucket, bounded }, prefix),

    address: (key) => signer.plain(`/${bucket}/${key}`),
    presignRead: async (key, ttlSeconds) => sign(signer, 'GET', key, ttlSeconds),
    presignDownload: async (key, ttlSeconds) => sign(publicSigner, 'GET', key, ttlSeconds),
    presignWrite: async (key, contentType, ttlSeconds, bytes) =>
      sign(publicSigner, 'PUT', key, ttlSeconds, { contentType, contentLength: bytes }),

    close: () => client.destroy(),
  }
}

const silentLogger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

function nothing(): void {}

const tries = 4

function clientOf({
  endpoint,
  region,
  accessKeyId,
  secretAccessKey,
  callLimitMs = defaultCallLimitMs,
  calls,
}: ObjectStoreOptions): S3Client {
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: tries,
    requestHandler: {
      // For one try. Interim answers (1xx) do not prolong it. Without the last member it only logs.
      requestTimeout: Math.max(30_000, callLimitMs / tries),
      connectionTimeout: 5_000,
      throwOnRequestTimeout: true,
    },
    // The platform throws and logs failures itself. The client would print its own lines next to the log.
    logger: silentLogger,
  })
  if (calls !== undefined) noteCalls(client, calls, new URL(endpoint).host)
  return client
}

/** Next to the connection, so that each repeat counts. */
function noteCalls(client: S3Client, calls: OutsideCalls, host: string): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const { end } = calls.begin('object_store', host)
      try {
        const answered = await next(args)
        const status = memberOf(answered.response, 'statusCode')
        end({ status: typeof status === 'number' ? status : 200 })
        return answered
      } catch (error) {
        // The client hides the reason of a caller's end. Its time limit counts.
        const reason = error instanceof Error && error.name === 'AbortError' ? error.cause : undefined
        end({ error: reason ?? error })
        throw error
      }
    },
    { step: 'deserialize', priority: 'low', name: 'outsideCalls' },
  )
}

/** A route answers 503 then. A store that hangs would take four attempts of 30 s otherwise. */
const defaultCallLimitMs = 20_000
/** A store that stops sending must not block a request for ever. */
const defaultReadLimitMs = 60_000
/** A reader that leaves off in the middle has given up by then. */
const abandonedMs = 3_600_000

function versionOf({
  ETag,
  ContentLength,
}: {
  ETag?: string | undefined
  ContentLength?: number | undefined
}): ObjectVersion {
  if (ETag === undefined || ContentLength === undefined) throw unavailable()
  return { etag: ETag, bytes: ContentLength }
}

/** Only the waits for the store count: a backup writes to another place meanwhile, perhaps over a slow line. */
async function* chunksOf(body: Readable, limitMs: number): AsyncGenerator<Buffer> {
  const chunks: AsyncIterator<Buffer> = body[Symbol.asyncIterator]()
  let leftMs = limitMs
  try {
    for (;;) {
      const askedMs = performance.now()
      const timer = setTimeout(() => body.destroy(new DOMException('no bytes in time', 'TimeoutError')), leftMs)
      const { done, value } = await chunks.next().finally(() => clearTimeout(timer))
      leftMs -= performance.now() - askedMs
      if (done === true) return
      yield value
    }
  } catch (error) {
    throw unavailable(error)
  } finally {
    body.destroy()
  }
}

async function unlessMissing<Output>(sent: Promise<Output>): Promise<Output | undefined> {
  try {
    return await sent
  } catch (error) {
    if (statusOf(error) === 404) return undefined
    throw unavailable(error)
  }
}

/** Makes a call without an answer a problem. The client's error of a refusal stays. */
async function answered<Output>(called: Promise<Output>): Promise<Output> {
  try {
    return await called
  } catch (error) {
    throw error instanceof Problem || statusOf(error) !== undefined ? error : unavailable(error)
  }
}

/** A signature has whole seconds. The address's lifetime starts there, not at the milliseconds after it. */
function wholeSecond(instant: Date): Date {
  return new Date(Math.floor(instant.getTime() / 1000) * 1000)
}

import { createHash } from 'node:crypto'
import { addAbortSignal, Readable } from 'node:stream'
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { statusOf, unavailable, type StoredBytes, uploadStream } from './stream-upload.ts'
import { createAddressSigner, type AddressSigner, type PresignedRequest } from './presigned-address.ts'
import { Problem } from '../http/problems.ts'

export interface ObjectStoreOptions {
  readonly endpoint: string
  /** Where clients reach the same store; the endpoint itself unless given. */
  readonly publicEndpoint?: string | undefined
  readonly region: string
  readonly bucket: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly now: () => Date
}

/** What is stored under a key at a moment. */
export interface ObjectVersion {
  readonly etag: string
  readonly bytes: number
}

/** Bytes as they are read: of one version, whatever is stored under the key meanwhile. */
export interface ReadObject extends ObjectVersion {
  /** Read once. Breaks off with Problem `object-store-unavailable`. */
  readonly chunks: AsyncIterable<Buffer>
}

/** What is found by the beginning of its key. */
export interface ListedObject {
  readonly key: string
  /** By the clock of the store. */
  readonly modifiedAt: Date
}

/** An address that needs no further credentials until it expires. */
export interface SignedAddress {
  readonly url: string
  readonly expiresAt: Date
}

/** Image bytes and raw provider responses; events name them by key, hash and length. */
export interface ObjectStore {
  /**
   * Stores bytes under a key that nothing else has; durable when it resolves.
   * @throws Problem `object-store-unavailable`
   */
  put(key: string, bytes: Uint8Array, contentType: string): Promise<StoredBytes>
  /**
   * The same for bytes that come bit by bit, of known length and hash; `chunks` begins anew for each try, and reuses no chunk
   * that it has given away. What turns out to be other bytes is not stored.
   * @throws Problem `object-store-unavailable`
   */
  putStream(
    key: string,
    chunks: () => AsyncIterable<Uint8Array>,
    known: Omit<StoredBytes, 'key'>,
    contentType: string,
  ): Promise<StoredBytes>
  get(key: string): Promise<Uint8Array>
  /** What lies under the keys that begin so, in no promised order. @throws Problem `object-store-unavailable` */
  list(prefix: string): AsyncIterable<ListedObject>
  /** What lies under a key now; undefined where nothing does. @throws Problem `object-store-unavailable` */
  head(key: string): Promise<ObjectVersion | undefined>
  /** Undefined where nothing lies under the key. @throws Problem `object-store-unavailable` */
  read(key: string): Promise<ReadObject | undefined>
  /**
   * Copies one version under a key that nothing else has; false where the source is no longer that version.
   * @throws Problem `object-store-unavailable`
   */
  copy(source: { readonly key: string; readonly etag: string }, key: string): Promise<boolean>
  /** Removes an object if it is there. */
  remove(key: string): Promise<void>
  /** Names the object, and opens nothing: the address has no signature. */
  address(key: string): string
  /** Reads the object, for the platform's own services. */
  presignRead(key: string, ttlSeconds: number): Promise<SignedAddress>
  /** Reads the object, for clients. */
  presignDownload(key: string, ttlSeconds: number): Promise<SignedAddress>
  /** For clients: stores bytes in place of what is there. The request must carry that Content-Type, and that Content-Length if one is given. */
  presignWrite(key: string, contentType: string, ttlSeconds: number, bytes?: number): Promise<SignedAddress>
  close(): void
}

/** Connects to an S3-compatible store; only calls that every such store knows. */
export function connectObjectStore(options: ObjectStoreOptions): ObjectStore {
  const { bucket, now } = options
  const client = clientOf(options)
  const signer = createAddressSigner(options)
  const publicSigner = createAddressSigner({ ...options, endpoint: options.publicEndpoint ?? options.endpoint })

  function sign(
    by: AddressSigner,
    method: 'GET' | 'PUT',
    key: string,
    ttlSeconds: number,
    body: Pick<PresignedRequest, 'contentType' | 'contentLength'> = {},
  ): SignedAddress {
    const signedAt = wholeSecond(now())
    const url = by.presign({ method, path: `/${bucket}/${key}`, signedAt, ttlSeconds, ...body })
    return { url, expiresAt: new Date(signedAt.getTime() + ttlSeconds * 1000) }
  }

  return {
    async put(key, bytes, contentType) {
      try {
        await client.send(
          new PutObjectCommand({
            Bucket: bucket,
            Key: key,
            Body: bytes,
            ContentType: contentType,
            ContentLength: bytes.length,
          }),
        )
      } catch (error) {
        throw unavailable(error)
      }
      return { key, sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length }
    },

    putStream: (key, chunks, known, contentType) =>
      uploadStream({ client, bucket }, { key, contentType, ...known }, chunks),

    async get(key) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
      if (Body === undefined) throw new Error('the object store answered without a body')
      return Body.transformToByteArray()
    },

    async *list(prefix) {
      let token: string | undefined
      do {
        const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: token })
        const { Contents = [], NextContinuationToken } = await client
          .send(command)
          .catch((error: unknown) => Promise.reject(unavailable(error)))
        for (const { Key, LastModified } of Contents) {
          if (Key === undefined || LastModified === undefined) throw unavailable()
          yield { key: Key, modifiedAt: LastModified }
        }
        token = NextContinuationToken
      } while (token !== undefined)
    },

    async head(key) {
      const found = await unlessMissing(client.send(new HeadObjectCommand({ Bucket: bucket, Key: key })))
      return found === undefined ? undefined : versionOf(found)
    },

    async read(key) {
      const found = await unlessMissing(client.send(new GetObjectCommand({ Bucket: bucket, Key: key })))
      if (found === undefined) return undefined
      if (!(found.Body instanceof Readable)) throw unavailable()
      const body = addAbortSignal(AbortSignal.timeout(readTimeoutMs), found.Body)
      return { ...versionOf(found), chunks: chunksOf(body) }
    },

    async copy(source, key) {
      const CopySource = `${bucket}/${source.key.split('/').map(encodeURIComponent).join('/')}`
      const command = new CopyObjectCommand({ Bucket: bucket, Key: key, CopySource, CopySourceIfMatch: source.etag })
      try {
        return (await unlessMissing(client.send(command))) !== undefined
      } catch (error) {
        if (error instanceof Problem && statusOf(error.cause) === 412) return false
        throw error
      }
    },

    async remove(key) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }))
    },

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

function clientOf({ endpoint, region, accessKeyId, secretAccessKey }: ObjectStoreOptions): S3Client {
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 4,
    requestHandler: { requestTimeout: 30_000, connectionTimeout: 5_000 },
    // What fails is thrown and logged by us; the client would write lines of its own beside the log.
    logger: silentLogger,
  })
}

/** Time for all the bytes of an object: a store that stops sending must not hold a request for ever. */
const readTimeoutMs = 60_000

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

async function* chunksOf(body: Readable): AsyncGenerator<Buffer> {
  try {
    yield* body
  } catch (error) {
    throw unavailable(error)
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

/** What a signature names: an address lives from there, not from the milliseconds after it. */
function wholeSecond(instant: Date): Date {
  return new Date(Math.floor(instant.getTime() / 1000) * 1000)
}

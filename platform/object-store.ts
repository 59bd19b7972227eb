import { createHash } from 'node:crypto'
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { problem } from './problems.ts'

export interface ObjectStoreOptions {
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly now: () => Date
}

/** Where bytes lie, and what they hash to (hex SHA-256). */
export interface StoredBytes {
  readonly key: string
  readonly sha256: string
  readonly bytes: number
}

/** Image bytes and raw provider responses; events name them by key, hash and length. */
export interface ObjectStore {
  /**
   * Stores bytes under a key that nothing else has; durable when it resolves.
   * @throws Problem `object-store-unavailable`
   */
  put(key: string, bytes: Uint8Array, contentType: string): Promise<StoredBytes>
  get(key: string): Promise<Uint8Array>
  /** Removes an object if it is there. */
  remove(key: string): Promise<void>
  /** An address that reads the object without further credentials until it expires. */
  presignRead(key: string, ttlSeconds: number): Promise<{ readonly url: string; readonly expiresAt: Date }>
  close(): void
}

/** Connects to an S3-compatible store; only calls that every such store knows. */
export function connectObjectStore(options: ObjectStoreOptions): ObjectStore {
  const { bucket, now } = options
  const client = new S3Client({
    endpoint: options.endpoint,
    region: options.region,
    forcePathStyle: true,
    credentials: { accessKeyId: options.accessKeyId, secretAccessKey: options.secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 4,
    requestHandler: { requestTimeout: 30_000, connectionTimeout: 5_000 },
  })

  return {
    async put(key, bytes, contentType) {
      try {
        await client.send(
          new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes, ContentType: contentType, ContentLength: bytes.length }),
        )
      } catch (error) {
        throw problem('object-store-unavailable', { retryAfterSeconds: 2, cause: error })
      }
      return { key, sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length }
    },

    async get(key) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
      if (Body === undefined) throw new Error('the object store answered without a body')
      return Body.transformToByteArray()
    },

    async remove(key) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }))
    },

    async presignRead(key, ttlSeconds) {
      const signingDate = now()
      const command = new GetObjectCommand({ Bucket: bucket, Key: key })
      const url = await getSignedUrl(client, command, { expiresIn: ttlSeconds, signingDate })
      return { url, expiresAt: new Date(signingDate.getTime() + ttlSeconds * 1000) }
    },

    close: () => client.destroy(),
  }
}

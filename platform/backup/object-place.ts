import { Problem } from '../http/problems.ts'
import { errorOf } from '../outbound/error-of.ts'
import type { ObjectStore } from '../storage/object-store.ts'
import type { BackupPlace } from './place.ts'

export interface BucketAddress {
  readonly bucket: string
  /** Empty, or ends with a slash. */
  readonly prefix: string
}

/**
 * Reads `s3://bucket` or `s3://bucket/prefix`.
 * @throws RangeError with a message for the operator
 */
export function readBucketAddress(address: string): BucketAddress {
  const found = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9._-]+)*)\/?$/.exec(address)
  const [bucket, path] = [found?.[1], found?.[2]?.slice(1) ?? '']
  if (bucket === undefined || path.split('/').some((part) => part === '.' || part === '..'))
    throw new RangeError(
      `${address} is no place for backups: s3://bucket/prefix has a bucket name, and folders of letters, digits, dots, hyphens and underscores`,
    )
  return { bucket, prefix: path === '' ? '' : `${path}/` }
}

/** A bucket of an S3-compatible store, below a prefix. The store takes a whole object or nothing, and it is durable at once. */
export function objectPlace(
  objects: Pick<ObjectStore, 'put' | 'head' | 'read' | 'list' | 'remove' | 'close'>,
  { bucket, prefix }: BucketAddress,
): BackupPlace {
  const address = `s3://${bucket}/${prefix}`
  return {
    address,
    async put(name, bytes) {
      await clearly(address, objects.put(prefix + name, bytes, 'application/octet-stream'))
    },
    flush: async () => undefined,
    has: async (name) => (await clearly(address, objects.head(prefix + name))) !== undefined,
    get: (name) => clearly(address, wholeObject(objects, prefix + name)),
    async *list(folder) {
      const listed = objects.list(`${prefix}${folder}/`)[Symbol.asyncIterator]()
      for (;;) {
        const { done, value } = await clearly(address, listed.next())
        if (done === true) return
        yield { name: value.key.slice(prefix.length), modifiedAt: value.modifiedAt }
      }
    },
    remove: (name) => clearly(address, objects.remove(prefix + name)),
    removeUnfinished: async () => undefined,
    close: () => objects.close(),
  }
}

async function wholeObject(objects: Pick<ObjectStore, 'read'>, key: string): Promise<Buffer | undefined> {
  const object = await objects.read(key)
  if (object === undefined) return undefined
  const chunks: Buffer[] = []
  for await (const chunk of object.chunks) chunks.push(chunk)
  return Buffer.concat(chunks, object.bytes)
}

/** The platform has an object store of its own, so a message names which one failed, and why. */
async function clearly<Result>(address: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    const cause = error instanceof Problem ? error.cause : error
    // The client's errors have the store's own code as their name, such as NoSuchBucket.
    const name = cause instanceof Error && cause.name !== 'Error' ? cause.name : null
    const reason = [name, errorOf(cause).code].filter((part) => part !== null).join(' ')
    throw new Error(`${address} cannot be used: ${reason}`, { cause: error })
  }
}

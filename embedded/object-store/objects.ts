import { randomUUID } from 'node:crypto'
import { type FileHandle, link, mkdir, open, rename, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import { atMost } from '../../platform/kit/at-most.ts'
import { errorCode } from '../../platform/kit/error-codes.ts'
import { syncFolder } from 'embedded-eventstore/durable-file'
import { S3Error } from './errors.ts'
import { type BodyDigests, type ObjectMeta, readObjectBytes, readObjectMeta, writeObjectFile } from './object-file.ts'
import { keysInOrder, objectPath } from './object-paths.ts'
import type { ListedObject } from './xml.ts'

export type StoredObject = { handle: FileHandle; meta: ObjectMeta }

export type NewObject = {
  bucket: string
  key: string
  body: Readable
  /** Called once the whole body is read. Throws to refuse it. */
  describe: (digests: BodyDigests) => Pick<ObjectMeta, 'contentType' | 'custom'>
  /** Refuses with `PreconditionFailed` when the key exists. The check happens at the moment of storing. */
  onlyIfAbsent: boolean
}

const BUCKET_NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/

/** Buckets and objects as files. A reported write or delete survives a power cut. */
export class Objects {
  readonly #buckets: string
  readonly #drafts: string
  /** Folders whose names are durable. A folder that falls out is synced once more. */
  readonly #durable = new LRUCache<string, true>(atMost(1_000))

  private constructor(dataDir: string) {
    this.#buckets = join(dataDir, 'buckets')
    this.#drafts = join(dataDir, 'drafts')
  }

  /** Opens the folder and removes files that a killed store left incomplete. */
  static async open(dataDir: string): Promise<Objects> {
    const objects = new Objects(dataDir)
    await rm(objects.#drafts, { recursive: true, force: true })
    await mkdir(objects.#drafts, { recursive: true, mode: 0o700 })
    await mkdir(objects.#buckets, { recursive: true, mode: 0o700 })
    await syncFolder(dataDir)
    return objects
  }

  async createBucket(bucket: string): Promise<void> {
    if (!BUCKET_NAME.test(bucket)) throw new S3Error('InvalidBucketName', 'The specified bucket is not valid')
    try {
      await mkdir(join(this.#buckets, bucket), { mode: 0o700 })
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
      throw new S3Error('BucketAlreadyOwnedByYou', 'You already own this bucket')
    }
    await syncFolder(this.#buckets)
  }

  async requireBucket(bucket: string): Promise<string> {
    const folder = join(this.#buckets, bucket)
    const found =
      BUCKET_NAME.test(bucket) &&
      (await stat(folder).then(
        () => true,
        () => false,
      ))
    if (!found) throw new S3Error('NoSuchBucket', 'The specified bucket does not exist')
    return folder
  }

  async put(object: NewObject): Promise<ObjectMeta> {
    const folder = await this.requireBucket(object.bucket)
    const file = objectPath(folder, object.key)
    const draft = join(this.#drafts, randomUUID())
    try {
      const meta = await writeObjectFile(draft, object.body, (digests) => ({
        ...object.describe(digests),
        modifiedAt: new Date().toISOString(),
      }))
      await mkdir(dirname(file), { recursive: true, mode: 0o700 })
      await (object.onlyIfAbsent ? placeIfAbsent(draft, file) : rename(draft, file))
      await this.#syncNames(file, folder)
      return meta
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  /**
   * Makes the name of a file durable, and those of its folders below the bucket. That includes folders that another call
   * has just created and not yet synced. Empty folders stay, so no call races a removal, and a durable name stays durable.
   * All at once, because a file system commits concurrent syncs together.
   */
  async #syncNames(file: string, bucket: string): Promise<void> {
    const unsynced: string[] = []
    let folder = dirname(file)
    for (; folder !== bucket && !this.#durable.has(folder); folder = dirname(folder)) unsynced.push(folder)
    await Promise.all([file, ...unsynced].map((name) => syncFolder(dirname(name))))
    for (const name of unsynced) this.#durable.set(name, true)
  }

  /** Opens an object. The handle's content stays the same when the key gets a new object. */
  async open(bucket: string, key: string): Promise<StoredObject> {
    const file = objectPath(await this.requireBucket(bucket), key)
    const handle = await open(file, 'r').catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') throw new S3Error('NoSuchKey', 'The specified key does not exist')
      throw error
    })
    try {
      return { handle, meta: await readObjectMeta(handle) }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** The bytes of an open object, `first` to `last` inclusive. The caller closes the handle. */
  bytes(object: StoredObject, first = 0, last: number = object.meta.size - 1): Readable {
    return readObjectBytes(object.handle, object.meta, first, last)
  }

  async remove(bucket: string, key: string): Promise<void> {
    const file = objectPath(await this.requireBucket(bucket), key)
    try {
      await rm(file)
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return
      throw error
    }
    await syncFolder(dirname(file))
  }

  /** Up to `limit` objects in key order, and whether more follow. */
  async list(
    bucket: string,
    prefix: string,
    after: string,
    limit: number,
  ): Promise<{ objects: ListedObject[]; more: boolean }> {
    const folder = await this.requireBucket(bucket)
    const objects: ListedObject[] = []
    for await (const key of keysInOrder(folder, prefix, after)) {
      if (objects.length === limit) return { objects, more: true }
      const found = await this.open(bucket, key).catch((error: unknown) => {
        if (error instanceof S3Error && error.code === 'NoSuchKey') return undefined
        throw error
      })
      if (found === undefined) continue
      await found.handle.close()
      objects.push({ key, etag: found.meta.etag, size: found.meta.size, modifiedAt: found.meta.modifiedAt })
    }
    return { objects, more: false }
  }
}

async function placeIfAbsent(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file)
    await unlink(draft)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
    throw new S3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold')
  }
}

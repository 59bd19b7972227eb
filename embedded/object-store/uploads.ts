import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { ifPresent } from '../../platform/kit/error-codes.ts'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import { syncFolder } from 'embedded-eventstore/durable-file'
import { S3Error } from './errors.ts'
import { type BodyDigests, type ObjectMeta, readObjectMeta, writeObjectFile } from './object-file.ts'
import type { Objects } from './objects.ts'

/** An object that comes in parts, before it is completed. */
export type Upload = {
  bucket: string
  key: string
  initiatedAt: string
} & Pick<ObjectMeta, 'contentType' | 'custom'>

type CompletedPart = { readonly number: number; readonly etag: string }

export const MOST_PARTS = 10_000
const SMALLEST_PART_BYTES = 5 * 1024 ** 2
const ABOUT = 'upload.json'

/** Uploads in parts, each a folder. They survive a restart of the store, as in S3: only their caller ends them. */
export class Uploads {
  readonly #folder: string
  readonly #drafts: string
  readonly #objects: Objects

  constructor(dataDir: string, objects: Objects) {
    this.#folder = join(dataDir, 'uploads')
    this.#drafts = join(dataDir, 'drafts')
    this.#objects = objects
  }

  async begin(upload: Upload): Promise<string> {
    await this.#objects.requireBucket(upload.bucket)
    const id = randomUUID()
    await mkdir(join(this.#folder, id), { recursive: true, mode: 0o700 })
    await writeFile(join(this.#folder, id, ABOUT), JSON.stringify(upload), { mode: 0o600 })
    await syncFolder(this.#folder)
    return id
  }

  /** Stores a part, or replaces it. Returns its ETag. */
  async put(id: string, number: number, body: Readable, check: (digests: BodyDigests) => void): Promise<string> {
    await this.#about(id)
    const draft = join(this.#folder, id, `draft-${randomUUID()}`)
    try {
      const { etag } = await writeObjectFile(draft, body, (digests) => {
        check(digests)
        return { contentType: '', custom: {}, modifiedAt: '' }
      })
      await rename(draft, this.#part(id, number))
      return etag
    } finally {
      await rm(draft, { force: true })
    }
  }

  /** Makes the object of the named parts, in their order. */
  async complete(id: string, parts: readonly CompletedPart[]): Promise<ObjectMeta> {
    const { bucket, key, contentType, custom } = await this.#about(id)
    if (parts.length === 0) throw new S3Error('InvalidRequest', 'You must specify at least one part')
    const sizes: number[] = []
    for (const [place, { number, etag }] of parts.entries()) {
      if (number <= (parts[place - 1]?.number ?? 0))
        throw new S3Error('InvalidPartOrder', 'The list of parts was not in ascending order')
      const meta = await this.#metaOf(id, number)
      if (meta?.etag !== etag) throw new S3Error('InvalidPart', 'One or more of the specified parts could not be found')
      if (place < parts.length - 1 && meta.size < SMALLEST_PART_BYTES)
        throw new S3Error('EntityTooSmall', 'Your proposed upload is smaller than the minimum allowed object size')
      sizes.push(meta.size)
    }
    const files = parts.map(({ number }) => this.#part(id, number))
    const describe = () => ({ contentType, custom })
    const body = Readable.from(bytesOf(files, sizes), { objectMode: false })
    const meta = await this.#objects.put({ bucket, key, body, onlyIfAbsent: false, describe })
    await this.abort(id)
    return meta
  }

  /** The next start removes what an interrupted end leaves in the drafts. */
  async abort(id: string): Promise<void> {
    await this.#about(id)
    const ended = join(this.#drafts, randomUUID())
    await ifPresent(rename(join(this.#folder, id), ended))
    await rm(ended, { recursive: true, force: true })
  }

  /** The uploads of a bucket whose key begins with `prefix`, by key. */
  async list(bucket: string, prefix: string): Promise<readonly (Upload & { readonly id: string })[]> {
    await this.#objects.requireBucket(bucket)
    const ids = (await ifPresent(readdir(this.#folder))) ?? []
    const found = await Promise.all(ids.map(async (id) => ({ id, about: await this.#aboutIfWhole(id) })))
    return found
      .flatMap(({ id, about }) => (about === undefined ? [] : [{ id, ...about }]))
      .filter((upload) => upload.bucket === bucket && upload.key.startsWith(prefix))
      .toSorted((one, other) => Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)))
  }

  #part(id: string, number: number): string {
    return join(this.#folder, id, `part-${number}`)
  }

  async #about(id: string): Promise<Upload> {
    const about = await this.#aboutIfWhole(id)
    if (about === undefined) throw new S3Error('NoSuchUpload', 'The specified multipart upload does not exist')
    return about
  }

  /** Undefined for an upload that has ended, or whose beginning was interrupted. */
  async #aboutIfWhole(id: string): Promise<Upload | undefined> {
    const text = /^[0-9a-f-]{36}$/.test(id)
      ? await ifPresent(readFile(join(this.#folder, id, ABOUT), 'utf8'))
      : undefined
    const about = text === undefined ? undefined : jsonOf(text)
    return typeof about === 'object' && about !== null && 'bucket' in about ? (about as Upload) : undefined
  }

  async #metaOf(id: string, number: number): Promise<ObjectMeta | undefined> {
    const handle = await ifPresent(open(this.#part(id, number), 'r'))
    if (handle === undefined) return undefined
    try {
      return await readObjectMeta(handle)
    } finally {
      await handle.close()
    }
  }
}

/** The bytes of the parts' files, without what follows them there. */
async function* bytesOf(files: readonly string[], sizes: readonly number[]): AsyncGenerator<Buffer, void, undefined> {
  for (const [place, file] of files.entries()) {
    const size = sizes[place] ?? 0
    if (size > 0) yield* createReadStream(file, { end: size - 1 })
  }
}

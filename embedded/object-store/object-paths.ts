import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ifPresent } from '../../platform/kit/error-codes.ts'
import { S3Error } from './errors.ts'

/** Percent-encoding never produces these suffixes. So the object `a` and the folder of `a/b` never collide. */
const FOLDER = '+'
const OBJECT = '='
const LONGEST_NAME = 250
const LONGEST_KEY_BYTES = 1024

/**
 * The file of a key below its bucket's folder: one folder per segment, with percent-encoded names. The suffixes turn
 * `..` and the empty segment into ordinary names, so no key leads out of the bucket. Throws `KeyTooLongError`.
 */
export function objectPath(bucketDir: string, key: string): string {
  const segments = key.split('/').map(encodeURIComponent)
  const last = segments.pop() ?? ''
  const names = [...segments.map((segment) => `${segment}${FOLDER}`), `${last}${OBJECT}`]
  if (Buffer.byteLength(key) > LONGEST_KEY_BYTES || names.some((name) => name.length > LONGEST_NAME)) {
    throw new S3Error('KeyTooLongError', 'Your key is too long')
  }
  return join(bucketDir, ...names)
}

/** The keys of a bucket that begin with `prefix` and sort after `after`, in the order of their UTF-8 bytes. */
export async function* keysInOrder(bucketDir: string, prefix: string, after: string): AsyncGenerator<string> {
  const base = prefix.slice(0, prefix.lastIndexOf('/') + 1)
  const folders =
    base === ''
      ? []
      : base
          .slice(0, -1)
          .split('/')
          .map((segment) => `${encodeURIComponent(segment)}${FOLDER}`)
  yield* walk(join(bucketDir, ...folders), base, prefix, after)
}

async function* walk(folder: string, base: string, prefix: string, after: string): AsyncGenerator<string> {
  const names = (await ifPresent(readdir(folder))) ?? []
  const entries = names
    .filter((name) => name.endsWith(FOLDER) || name.endsWith(OBJECT))
    .map((name) => ({ name, isFolder: name.endsWith(FOLDER), path: `${base}${decodeURIComponent(name.slice(0, -1))}` }))
    .map((entry) => ({ ...entry, path: entry.isFolder ? `${entry.path}/` : entry.path }))
    .filter(({ path, isFolder }) => path.startsWith(prefix) || (isFolder && prefix.startsWith(path)))
    .sort((left, right) => compareBytes(left.path, right.path))
  for (const { name, isFolder, path } of entries) {
    if (isFolder) {
      const passed = compareBytes(path, after) < 0 && !after.startsWith(path)
      if (!passed) yield* walk(join(folder, name), path, prefix, after)
    } else if (compareBytes(path, after) > 0) {
      yield path
    }
  }
}

function compareBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

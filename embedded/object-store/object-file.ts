import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import { S3Error } from './errors.ts'

export type ObjectMeta = {
  /** MD5 of the bytes in hex, as S3 computes it. */
  etag: string
  size: number
  contentType: string
  modifiedAt: string
  /** The caller's `x-amz-meta-*` headers. */
  custom: Readonly<Record<string, string>>
}

/** Digests of a received body, by the names under which requests declare them. */
export type BodyDigests = { md5: Buffer; sha256: string; size: number }

const MAGIC = 'OBJ1'
const FOOTER_BYTES = 8
const CHUNK_BYTES = 64 * 1024

/**
 * Writes an object's file: the bytes, then the metadata, then the length of the metadata, then a mark. One file holds
 * everything. Bytes and metadata so appear together, and a copied folder is complete. `describe` gets the digests and
 * may refuse. The file is durable when this returns; its name is not.
 */
export async function writeObjectFile(
  file: string,
  body: Readable,
  describe: (digests: BodyDigests) => Omit<ObjectMeta, 'etag' | 'size'>,
): Promise<ObjectMeta> {
  const md5 = createHash('md5')
  const sha256 = createHash('sha256')
  let size = 0
  const observe = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      md5.update(chunk)
      sha256.update(chunk)
      size += chunk.length
      done(null, chunk)
    },
  })
  // The stream owns its descriptor. It closes it after its last write, also when that is aborted. If this function
  // closed it, its number could belong to another object when a pending write runs.
  await pipeline(body, observe, createWriteStream(file, { flags: 'wx', mode: 0o600 }))
  const digest = md5.digest()
  const described = describe({ md5: digest, sha256: sha256.digest('hex'), size })
  const meta = { etag: digest.toString('hex'), size, ...described }
  const handle = await open(file, 'a')
  try {
    // Unlike `write`, it fails if a full disk takes only a part.
    await handle.appendFile(footer(meta))
    await handle.sync()
    return meta
  } finally {
    await handle.close()
  }
}

function footer(meta: ObjectMeta): Buffer {
  const text = Buffer.from(JSON.stringify(meta))
  const end = Buffer.alloc(FOOTER_BYTES)
  end.writeUInt32BE(text.length)
  end.write(MAGIC, 4, 'latin1')
  return Buffer.concat([text, end])
}

/** Reads the metadata of an object. Throws `InternalError` when the file is damaged. */
export async function readObjectMeta(handle: FileHandle): Promise<ObjectMeta> {
  const { size } = await handle.stat()
  const end = Buffer.alloc(FOOTER_BYTES)
  await handle.read(end, 0, FOOTER_BYTES, Math.max(0, size - FOOTER_BYTES))
  const length = end.readUInt32BE()
  const start = size - FOOTER_BYTES - length
  if (end.toString('latin1', 4) !== MAGIC || start < 0) throw damaged()
  const text = Buffer.alloc(length)
  await handle.read(text, 0, length, start)
  const meta = parseMeta(text.toString())
  if (meta === undefined || meta.size !== start) throw damaged()
  return meta
}

/**
 * Streams an object's bytes, from `first` to `last` inclusive. A whole read checks the MD5 and stops before its last
 * bytes when it differs. A damaged image must not pass for the stored one. The caller closes the handle, however the
 * reading ends. A stream over its descriptor would close the descriptor when it is destroyed. When the caller closes it
 * too, its number could belong to another object or to the event loop.
 */
export function readObjectBytes(handle: FileHandle, meta: ObjectMeta, first: number, last: number): Readable {
  if (meta.size === 0) return Readable.from([])
  const bytes = bytesOf(handle, first, last)
  const isWhole = first === 0 && last === meta.size - 1
  return Readable.from(isWhole ? checked(bytes, meta.etag) : bytes, { objectMode: false })
}

async function* bytesOf(handle: FileHandle, first: number, last: number): AsyncGenerator<Buffer, void, undefined> {
  let at = first
  while (at <= last) {
    const wanted = Math.min(CHUNK_BYTES, last - at + 1)
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(wanted), 0, wanted, at)
    if (bytesRead === 0) throw damaged()
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

async function* checked(chunks: AsyncIterable<Buffer>, etag: string): AsyncGenerator<Buffer, void, undefined> {
  const md5 = createHash('md5')
  let held: Buffer | undefined
  for await (const chunk of chunks) {
    md5.update(chunk)
    if (held !== undefined) yield held
    held = chunk
  }
  if (md5.digest('hex') !== etag) throw damaged()
  if (held !== undefined) yield held
}

function parseMeta(text: string): ObjectMeta | undefined {
  const value = jsonOf(text)
  return typeof value === 'object' && value !== null && 'etag' in value ? (value as ObjectMeta) : undefined
}

function damaged(): S3Error {
  return new S3Error('InternalError', 'The stored object is damaged')
}

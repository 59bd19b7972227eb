import { createHash, randomBytes } from 'node:crypto'
import { appendFile, mkdtemp, open, readdir, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EmbeddedObjectStore } from '../../../embedded/object-store/start-object-store.ts'
import { BUCKET as Bucket, clientOf, CREDENTIALS, startStore } from './store-client.ts'
import { eventually } from '../../support/eventually.ts'

let folder: string
let store: EmbeddedObjectStore
let s3: S3Client

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'objects-'))
  store = await startStore(folder)
  s3 = clientOf(store)
})

afterAll(async () => {
  s3.destroy()
  await store.stop()
  await rm(folder, { recursive: true, force: true })
})

async function put(Key: string, Body: string | Buffer, ContentType?: string): Promise<string> {
  const { ETag = '' } = await s3.send(
    new PutObjectCommand({ Bucket, Key, Body, ...(ContentType === undefined ? {} : { ContentType }) }),
  )
  return ETag
}

async function get(Key: string, Range?: string): Promise<Buffer> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key, ...(Range === undefined ? {} : { Range }) }))
  return Buffer.from((await Body?.transformToByteArray()) ?? [])
}

test('returns a stored object with its type, MD5 and length', async () => {
  const body = randomBytes(300_000)
  const etag = await put('images/ä b+c (1).jpg', body, 'image/jpeg')
  const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 'images/ä b+c (1).jpg' }))

  expect(etag).toBe(`"${createHash('md5').update(body).digest('hex')}"`)
  expect(head).toMatchObject({ ETag: etag, ContentLength: 300_000, ContentType: 'image/jpeg' })
  expect((await get('images/ä b+c (1).jpg')).equals(body)).toBe(true)
  expect((await get('images/ä b+c (1).jpg', 'bytes=10-19')).equals(body.subarray(10, 20))).toBe(true)
})

test('keeps an empty object apart from a key that starts with the same text', async () => {
  await put('deep', '')
  await put('deep/er', 'below')
  await put('deep/../up', 'not above')
  await put('deep/', 'a folder marker')

  expect(await get('deep')).toHaveLength(0)
  expect((await get('deep/er')).toString()).toBe('below')
  expect((await get('deep/../up')).toString()).toBe('not above')
  expect((await get('deep/')).toString()).toBe('a folder marker')
  expect(await readdir(folder)).toEqual(['buckets', 'drafts'])
})

test('keeps custom metadata, and accepts a large body', async () => {
  const body = randomBytes(9_000_000)
  await s3.send(new PutObjectCommand({ Bucket, Key: 'large', Body: body, Metadata: { origin: 'demo' } }))

  expect((await get('large')).equals(body)).toBe(true)
  expect((await s3.send(new HeadObjectCommand({ Bucket, Key: 'large' }))).Metadata).toEqual({ origin: 'demo' })
})

test('refuses a body of more than 32 MiB and stores nothing', async () => {
  const refused = s3.send(new PutObjectCommand({ Bucket, Key: 'too-large', Body: Buffer.alloc(32 * 1024 * 1024 + 1) }))
  await expect(refused).rejects.toMatchObject({ name: 'EntityTooLarge', $metadata: { httpStatusCode: 400 } })
  await expect(get('too-large')).rejects.toMatchObject({ name: 'NoSuchKey' })
})

test('its refusal reaches a sender that sends everything before it reads, on a connection of one request', async () => {
  const address = new URL(await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: 'too-large' }), { expiresIn: 60 }))
  const length = 40 * 1024 * 1024
  const socket = connect(Number(address.port), address.hostname)
  const failed: Error[] = []
  socket.on('error', (error) => failed.push(error))
  socket.write(`PUT ${address.pathname}${address.search} HTTP/1.1\r\nHost: ${address.host}\r\nConnection: close\r\n`)
  socket.write(`Content-Length: ${length}\r\n\r\n`)
  const piece = Buffer.alloc(1024 * 1024)
  for (let sent = 0; sent < length && failed.length === 0; sent += piece.length)
    await new Promise((resolve) => socket.write(piece, resolve))
  expect(failed).toEqual([])
  expect(await text(socket)).toMatch(/^HTTP\/1.1 400 [^]*<Code>EntityTooLarge<\/Code>/)
})

test('refuses a body in the aws-chunked encoding instead of storing its framing', async () => {
  const Body = Readable.from([Buffer.alloc(70_000, 1)])
  const chunked = s3.send(
    new PutObjectCommand({ Bucket, Key: 'chunked', Body, ContentLength: 70_000, ChecksumAlgorithm: 'CRC32' }),
  )

  await expect(chunked).rejects.toMatchObject({ name: 'NotImplemented' })
  await expect(get('chunked')).rejects.toMatchObject({ name: 'NoSuchKey' })
})

test("refuses missing keys and buckets with S3's codes, but not a repeated delete", async () => {
  await put('doomed', 'x')
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'doomed' }))
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'doomed' }))

  await expect(get('doomed')).rejects.toMatchObject({ name: 'NoSuchKey', $metadata: { httpStatusCode: 404 } })
  await expect(s3.send(new HeadObjectCommand({ Bucket, Key: 'doomed' }))).rejects.toMatchObject({ name: 'NotFound' })
  await expect(s3.send(new HeadBucketCommand({ Bucket: 'elsewhere' }))).rejects.toMatchObject({ name: 'NotFound' })
  await expect(s3.send(new PutObjectCommand({ Bucket: 'elsewhere', Key: 'k', Body: 'x' }))).rejects.toMatchObject({
    name: 'NoSuchBucket',
  })
})

test('creates a bucket only once', async () => {
  await s3.send(new CreateBucketCommand({ Bucket: 'second' }))
  await expect(s3.send(new CreateBucketCommand({ Bucket: 'second' }))).rejects.toMatchObject({
    name: 'BucketAlreadyOwnedByYou',
  })
  await expect(s3.send(new HeadBucketCommand({ Bucket: 'second' }))).resolves.toMatchObject({
    $metadata: { httpStatusCode: 200 },
  })
})

test('copies only the requested version', async () => {
  const etag = await put('upload/one', 'first bytes', 'image/png')
  const copy = { Bucket, Key: 'kept/one', CopySource: `${Bucket}/upload/one` }
  await expect(s3.send(new CopyObjectCommand({ ...copy, CopySourceIfMatch: '"0123"' }))).rejects.toMatchObject({
    name: 'PreconditionFailed',
  })
  await expect(get('kept/one')).rejects.toMatchObject({ name: 'NoSuchKey' })

  const { CopyObjectResult } = await s3.send(new CopyObjectCommand({ ...copy, CopySourceIfMatch: etag }))
  expect(CopyObjectResult?.ETag).toBe(etag)
  expect(await s3.send(new HeadObjectCommand({ Bucket, Key: 'kept/one' }))).toMatchObject({
    ContentType: 'image/png',
    ContentLength: 11,
  })
})

test('a put can require a new key; of many at once, one succeeds', async () => {
  const attempts = await Promise.allSettled(
    Array.from({ length: 8 }, (_, n) =>
      s3.send(new PutObjectCommand({ Bucket, Key: 'only-once', Body: `writer ${n}`, IfNoneMatch: '*' })),
    ),
  )
  expect(attempts.filter((attempt) => attempt.status === 'fulfilled')).toHaveLength(1)
  await expect(
    s3.send(new PutObjectCommand({ Bucket, Key: 'only-once', Body: 'late', IfNoneMatch: '*' })),
  ).rejects.toMatchObject({
    name: 'PreconditionFailed',
  })
})

test('a listing contains the keys of a prefix in byte order, in pages', async () => {
  const keys = ['list/a', 'list/a-b', 'list/a/1', 'list/a/2', 'list/a0', 'list/b/x/y', 'list/ü', 'listing']
  for (const key of keys) await put(key, key)

  const seen: (string | undefined)[] = []
  let token: string | undefined
  do {
    const page: ListObjectsV2CommandOutput = await s3.send(
      new ListObjectsV2Command({
        Bucket,
        Prefix: 'list/',
        MaxKeys: 3,
        ...(token === undefined ? {} : { ContinuationToken: token }),
      }),
    )
    seen.push(...(page.Contents ?? []).map((object) => object.Key))
    token = page.NextContinuationToken
  } while (token !== undefined)

  expect(seen).toEqual(['list/a', 'list/a-b', 'list/a/1', 'list/a/2', 'list/a0', 'list/b/x/y', 'list/ü'])
  const partial = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'list/a/', StartAfter: 'list/a/1' }))
  expect(partial.Contents?.map((object) => [object.Key, object.Size])).toEqual([['list/a/2', 8]])
  expect((await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'nothing/here' }))).KeyCount).toBe(0)
})

test('refuses a body with another digest than declared and stores nothing', async () => {
  const wrong = {
    Bucket,
    Key: 'digest',
    Body: 'the body',
    ContentMD5: createHash('md5').update('another').digest('base64'),
  }
  await expect(s3.send(new PutObjectCommand(wrong))).rejects.toMatchObject({ name: 'BadDigest' })
  await expect(get('digest')).rejects.toMatchObject({ name: 'NoSuchKey' })
  expect(await readdir(join(folder, 'drafts'))).toEqual([])
})

test('serves a client that sends checksums by default', async () => {
  const checking = new S3Client({
    endpoint: store.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: CREDENTIALS,
  })
  await checking.send(new PutObjectCommand({ Bucket, Key: 'summed', Body: 'with a checksum' }))
  const { Body } = await checking.send(new GetObjectCommand({ Bucket, Key: 'summed' }))
  expect(await Body?.transformToString()).toBe('with a checksum')
  checking.destroy()
})

test('reports a flipped byte and never returns a damaged image', async () => {
  await put('flipped', randomBytes(200_000))
  const file = join(folder, 'buckets', Bucket, 'flipped=')
  const handle = await open(file, 'r+')
  await handle.write(Buffer.from('!'), 0, 1, 150_000)
  await handle.close()
  await expect(get('flipped')).rejects.toThrow()

  await put('torn', 'x')
  await appendFile(join(folder, 'buckets', Bucket, 'torn='), 'garbage')
  await expect(get('torn')).rejects.toMatchObject({ name: 'InternalError' })
})

test('objects survive a kill of the store; incomplete ones do not appear', async () => {
  const apart = join(folder, 'apart')
  const before = await startStore(apart)
  const first = clientOf(before)
  await first.send(new PutObjectCommand({ Bucket, Key: 'kept', Body: 'kept bytes', ContentType: 'image/jpeg' }))
  const address = await getSignedUrl(first, new PutObjectCommand({ Bucket, Key: 'half' }), { expiresIn: 60 })
  const upload = request(address, { method: 'PUT', headers: { 'content-length': 100_000 } })
  upload.on('error', () => {})
  upload.write(Buffer.alloc(50_000))
  await eventually(async () => expect(await readdir(join(apart, 'drafts'))).toHaveLength(1))
  process.kill(before.pid, 'SIGKILL')
  await before.exited
  first.destroy()

  const after = await startStore(apart, before.port)
  const second = clientOf(after)
  const found = await second.send(new GetObjectCommand({ Bucket, Key: 'kept' }))
  expect(await found.Body?.transformToString()).toBe('kept bytes')
  expect(found.ContentType).toBe('image/jpeg')
  await expect(second.send(new GetObjectCommand({ Bucket, Key: 'half' }))).rejects.toMatchObject({ name: 'NoSuchKey' })
  expect(await readdir(join(apart, 'drafts'))).toEqual([])
  second.destroy()
  await after.stop()
  expect(await after.exited).toBe(0)
})

test('an interrupted upload leaves nothing', async () => {
  const address = await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: 'given-up' }), { expiresIn: 60 })
  const upload = request(address, { method: 'PUT', headers: { 'content-length': 100_000 } })
  upload.on('error', () => {})
  upload.write(Buffer.alloc(50_000))
  await eventually(async () => expect(await readdir(join(folder, 'drafts'))).toHaveLength(1))
  upload.destroy()

  await eventually(async () => expect(await readdir(join(folder, 'drafts'))).toEqual([]))
  await expect(get('given-up')).rejects.toMatchObject({ name: 'NoSuchKey' })
})

test('every answer forbids browsers to guess the type of an object', async () => {
  await put('images/typed', '<script>', 'image/png')
  const url = await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: 'images/typed' }))
  for (const address of [url, `${store.endpoint}/unsigned`, `${store.endpoint}//`]) {
    const answer = await fetch(address)
    await answer.arrayBuffer()
    expect([answer.status < 500, answer.headers.get('x-content-type-options')]).toEqual([true, 'nosniff'])
  }
})

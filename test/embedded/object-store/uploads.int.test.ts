import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EmbeddedObjectStore } from '../../../embedded/object-store/start-object-store.ts'
import { BUCKET as Bucket, clientOf, startStore } from './store-client.ts'

let folder: string
let store: EmbeddedObjectStore
let s3: S3Client

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uploads-'))
  store = await startStore(folder)
  s3 = clientOf(store)
})

afterAll(async () => {
  s3.destroy()
  await store.stop()
  await rm(folder, { recursive: true, force: true })
})

const large = randomBytes(5 * 1024 ** 2)

async function begin(Key: string, ContentType = 'application/zip') {
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key, ContentType }))
  const of = { Bucket, Key, UploadId }
  return {
    id: UploadId,
    part: async (PartNumber: number, Body: Buffer) => {
      const { ETag } = await s3.send(new UploadPartCommand({ ...of, PartNumber, Body }))
      return { PartNumber, ETag }
    },
    complete: (...Parts: readonly { PartNumber: number; ETag: string | undefined }[]) =>
      s3.send(new CompleteMultipartUploadCommand({ ...of, MultipartUpload: { Parts: [...Parts] } })),
    abort: () => s3.send(new AbortMultipartUploadCommand(of)),
  }
}

async function uploads(Prefix = '') {
  const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix }))
  return Uploads.map(({ UploadId }) => UploadId)
}

test('makes an object of its parts, in their order, also after a restart', async () => {
  const upload = await begin('a & b.zip')
  const last = await upload.part(2, Buffer.from('the end'))
  await upload.part(1, randomBytes(5 * 1024 ** 2))
  expect(await uploads('a')).toEqual([upload.id])
  expect(await uploads('b')).toEqual([])
  const { port } = new URL(store.endpoint)
  await store.stop()
  store = await startStore(folder, Number(port))
  // A part is replaced by a later one of its number.
  const first = await upload.part(1, large)
  await upload.complete(first, last)
  const { Body, ContentType } = await s3.send(new GetObjectCommand({ Bucket, Key: 'a & b.zip' }))
  const expected = Buffer.concat([large, Buffer.from('the end')])
  expect(expected.equals((await Body?.transformToByteArray()) ?? Buffer.alloc(0))).toBe(true)
  expect(ContentType).toBe('application/zip')
  expect(await uploads()).toEqual([])
})

test('refuses unknown uploads and parts, a wrong order, and small parts before the last', async () => {
  const upload = await begin('refused.zip')
  const [first, second] = [await upload.part(1, Buffer.from('small')), await upload.part(2, large)]
  await expect(upload.complete()).rejects.toMatchObject({ name: 'InvalidRequest' })
  await expect(upload.complete(second, first)).rejects.toMatchObject({ name: 'InvalidPartOrder' })
  await expect(upload.complete(second, { ...first, PartNumber: 3 })).rejects.toMatchObject({ name: 'InvalidPart' })
  await expect(upload.complete({ ...second, PartNumber: 1 })).rejects.toMatchObject({ name: 'InvalidPart' })
  await expect(upload.complete(first, second)).rejects.toMatchObject({ name: 'EntityTooSmall' })
  await expect(upload.part(10_001, large)).rejects.toMatchObject({ name: 'InvalidArgument' })
  await upload.abort()
  await expect(upload.part(1, large)).rejects.toMatchObject({ name: 'NoSuchUpload' })
  await expect(upload.complete(second)).rejects.toMatchObject({ name: 'NoSuchUpload' })
  await expect(s3.send(new GetObjectCommand({ Bucket, Key: 'refused.zip' }))).rejects.toMatchObject({
    name: 'NoSuchKey',
  })
})

test('lists uploads beside one whose beginning or end was interrupted, and keeps nothing of an ended one', async () => {
  const [whole, ended] = [await begin('whole.zip'), await begin('ended.zip')]
  // A kill leaves a folder without its description.
  await mkdir(join(folder, 'uploads', randomUUID()))
  expect(await uploads()).toEqual(expect.arrayContaining([whole.id, ended.id]))
  await ended.part(1, large)
  await ended.abort()
  expect(await uploads()).toEqual([whole.id])
  expect(await readdir(join(folder, 'uploads'))).not.toContain(ended.id)
  expect(await readdir(join(folder, 'drafts'))).toEqual([])
  await whole.abort()
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EmbeddedObjectStore } from '../../../embedded/object-store/start-object-store.ts'
import { BUCKET as Bucket, clientOf, CREDENTIALS, startStore } from './store-client.ts'

let folder: string
let store: EmbeddedObjectStore
let s3: S3Client

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signature-'))
  store = await startStore(folder)
  s3 = clientOf(store)
  await s3.send(new PutObjectCommand({ Bucket, Key: 'images/one', Body: 'the image', ContentType: 'image/jpeg' }))
})

afterAll(async () => {
  s3.destroy()
  await store.stop()
  await rm(folder, { recursive: true, force: true })
})

async function readAddress(
  options: { signingDate?: Date; expiresIn?: number; client?: S3Client } = {},
): Promise<string> {
  const { client = s3, ...rest } = options
  return await getSignedUrl(client, new GetObjectCommand({ Bucket, Key: 'images/one' }), { expiresIn: 300, ...rest })
}

async function uploadAddress(ContentType = 'image/png', Key = 'uploads/one'): Promise<string> {
  return await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key, ContentType }), {
    expiresIn: 300,
    signableHeaders: new Set(['content-type', 'host']),
  })
}

async function refusal(
  url: string,
  init?: RequestInit,
): Promise<{ status: number; code: string | undefined; type: string | null }> {
  const response = await fetch(url, init)
  const code = /<Code>(\w+)<\/Code>/.exec(await response.text())?.[1]
  return { status: response.status, code, type: response.headers.get('content-type') }
}

function refusedAs(status: number, code: string): { status: number; code: string; type: string } {
  return { status, code, type: 'application/xml' }
}

test('a presigned URL reads one object or stores one of the declared type', async () => {
  const read = await fetch(await readAddress())
  expect([read.status, read.headers.get('content-type'), await read.text()]).toEqual([200, 'image/jpeg', 'the image'])

  const upload = await fetch(await uploadAddress(), {
    method: 'PUT',
    body: 'png bytes',
    headers: { 'content-type': 'image/png' },
  })
  expect(upload.status).toBe(200)
  expect(await s3.send(new HeadObjectCommand({ Bucket, Key: 'uploads/one' }))).toMatchObject({
    ContentType: 'image/png',
    ContentLength: 9,
  })
})

test('refuses another method than the signed one', async () => {
  const read = await readAddress()
  expect(await refusal(read, { method: 'DELETE' })).toEqual(refusedAs(403, 'SignatureDoesNotMatch'))
  expect(await refusal(read, { method: 'PUT', body: 'other bytes' })).toEqual(refusedAs(403, 'SignatureDoesNotMatch'))
  expect((await fetch(read, { method: 'HEAD' })).status).toBe(403)
  expect(await refusal(await uploadAddress())).toEqual(refusedAs(403, 'SignatureDoesNotMatch'))
})

test('refuses a missing content type, or another one than the signed one', async () => {
  const upload = await uploadAddress('image/png', 'uploads/two')
  expect(await refusal(upload, { method: 'PUT', body: 'x', headers: { 'content-type': 'text/html' } })).toEqual(
    refusedAs(403, 'SignatureDoesNotMatch'),
  )
  expect(await refusal(upload, { method: 'PUT', body: new Uint8Array([1]) })).toEqual(
    refusedAs(403, 'SignatureDoesNotMatch'),
  )
  await expect(s3.send(new HeadObjectCommand({ Bucket, Key: 'uploads/two' }))).rejects.toMatchObject({
    name: 'NotFound',
  })
})

test.each([
  ['another key', (url: string) => url.replace('/images/one', '/images/two')],
  ['a longer life', (url: string) => url.replace('X-Amz-Expires=300', 'X-Amz-Expires=3000')],
  ['an added parameter', (url: string) => `${url}&response-content-type=text%2Fhtml`],
  [
    'a changed signature',
    (url: string) => url.replace(/X-Amz-Signature=(.)/, (_, first) => `X-Amz-Signature=${first === '0' ? '1' : '0'}`),
  ],
  [
    'another day',
    (url: string) =>
      url.replace(/X-Amz-Date=\d{8}T\d{6}/, (date) => `${date.slice(0, -1)}${date.endsWith('0') ? '1' : '0'}`),
  ],
])('refuses a URL with %s', async (_, tamper) => {
  expect(await refusal(tamper(await readAddress()))).toEqual(refusedAs(403, 'SignatureDoesNotMatch'))
})

test('refuses an expired URL and one from the future', async () => {
  const hourAgo = new Date(Date.now() - 3_600_000)
  const inAnHour = new Date(Date.now() + 3_600_000)
  expect(await refusal(await readAddress({ signingDate: hourAgo }))).toEqual(refusedAs(403, 'AccessDenied'))
  expect(await refusal(await readAddress({ signingDate: inAnHour }))).toEqual(refusedAs(403, 'AccessDenied'))
  expect((await fetch(await readAddress({ signingDate: hourAgo, expiresIn: 7200 }))).status).toBe(200)
})

test('refuses an unknown credential, a wrong secret and no credential, with both ways to sign', async () => {
  const unknown = clientOf(store, { accessKeyId: 'nobody', secretAccessKey: CREDENTIALS.secretAccessKey })
  const wrong = clientOf(store, { accessKeyId: CREDENTIALS.accessKeyId, secretAccessKey: 'guess' })

  expect(await refusal(await readAddress({ client: unknown }))).toEqual(refusedAs(403, 'InvalidAccessKeyId'))
  expect(await refusal(await readAddress({ client: wrong }))).toEqual(refusedAs(403, 'SignatureDoesNotMatch'))
  expect(await refusal(`${store.endpoint}/${Bucket}/images/one`)).toEqual(refusedAs(403, 'AccessDenied'))
  const get = new GetObjectCommand({ Bucket, Key: 'images/one' })
  await expect(unknown.send(get)).rejects.toMatchObject({
    name: 'InvalidAccessKeyId',
    $metadata: { httpStatusCode: 403 },
  })
  await expect(wrong.send(get)).rejects.toMatchObject({
    name: 'SignatureDoesNotMatch',
    $metadata: { httpStatusCode: 403 },
  })
  unknown.destroy()
  wrong.destroy()
})

test('refuses a presigned request with an Authorization header', async () => {
  const headers = { authorization: 'Bearer platform-token' }
  expect(await refusal(await readAddress(), { headers })).toEqual(refusedAs(400, 'InvalidArgument'))
})

test('refuses an unsigned header that has a meaning for the store', async () => {
  const upload = await uploadAddress('image/png', 'uploads/three')
  const headers = { 'content-type': 'image/png', 'x-amz-copy-source': `/${Bucket}/images/one` }
  expect(await refusal(upload, { method: 'PUT', headers })).toEqual(refusedAs(403, 'AccessDenied'))
})

test('refuses malformed signatures and keeps working', async () => {
  const base = `${store.endpoint}/${Bucket}/images/one`
  expect(await refusal(`${base}?X-Amz-Signature=00`)).toEqual(refusedAs(400, 'AuthorizationQueryParametersError'))
  expect(await refusal(`${await readAddress()}&X-Amz-Expires=9000`)).toEqual(
    refusedAs(400, 'AuthorizationQueryParametersError'),
  )
  expect(await refusal(base, { headers: { authorization: 'AWS4-HMAC-SHA256 nonsense' } })).toEqual(
    refusedAs(400, 'AuthorizationHeaderMalformed'),
  )
  expect(await refusal((await readAddress()).replace('aws4_request', 'aws5_request'))).toEqual(
    refusedAs(400, 'AuthorizationHeaderMalformed'),
  )
  expect((await fetch(await readAddress())).status).toBe(200)
})

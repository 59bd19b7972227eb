import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startObjectStore, type EmbeddedObjectStore } from '../../embedded/object-store/start-object-store.ts'
import { connectObjectStore, type ObjectStore } from '../../platform/object-store.ts'
import { Problem } from '../../platform/problems.ts'

const account = { accessKeyId: 'test-key', secretAccessKey: 'test-secret' }
const region = 'eu-central-1'
const bucket = 'images'

let folder: string
let server: EmbeddedObjectStore
let objects: ObjectStore
/** A store that is away. */
let gone: ObjectStore

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'object-store-'))
  server = await startObjectStore({ dataDir: folder, port: 0, bucket, ...account })
  objects = connectObjectStore({ endpoint: server.endpoint, region, bucket, ...account, now: () => new Date() })
  gone = connectObjectStore({ endpoint: 'http://127.0.0.1:1', region, bucket, ...account, now: () => new Date() })
})

afterAll(async () => {
  objects.close()
  gone.close()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const clientAt = (now: Date) => connectObjectStore({ endpoint: server.endpoint, region, bucket, ...account, now: () => now })

async function put(url: string, body: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const response = await fetch(url, { method: 'PUT', body: new TextEncoder().encode(body), headers })
  await response.arrayBuffer()
  return response.status
}

async function chunksOf(key: string): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  for await (const chunk of (await objects.read(key))?.chunks ?? []) chunks.push(chunk)
  return chunks
}

const textOf = async (key: string) => Buffer.concat(await chunksOf(key)).toString()

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  )
}

const jpeg = { 'content-type': 'image/jpeg' }

test('clients and services are given the address by which each reaches the store', async () => {
  const byAnotherName = `http://localhost:${new URL(server.endpoint).port}`
  const both = connectObjectStore({ endpoint: server.endpoint, publicEndpoint: byAnotherName, region, bucket, ...account, now: () => new Date() })
  const write = await both.presignWrite('uploads/named', 'image/jpeg', 60)
  expect(await put(write.url, 'a photograph', jpeg)).toBe(200)
  const addresses = [write, await both.presignDownload('uploads/named', 60), await both.presignRead('uploads/named', 60)]
  expect(addresses.map(({ url }) => new URL(url).origin)).toEqual([byAnotherName, byAnotherName, server.endpoint])
  for (const { url } of addresses.slice(1)) expect(await (await fetch(url)).text()).toBe('a photograph')
  both.close()
})

test('an address to write to takes the signed type, again and again, without credentials', async () => {
  const { url } = await objects.presignWrite('uploads/a b/ü', 'image/jpeg', 60)
  expect(new URL(url).searchParams.get('X-Amz-SignedHeaders')).toBe('content-type;host')
  expect([...new URL(url).searchParams.keys()].filter((name) => /checksum/i.test(name))).toEqual([])
  expect(await put(url, 'first', { 'content-type': 'image/png' })).toBe(403)
  expect(await put(url, 'first', {})).toBe(403)
  expect(await put(url, 'first', { ...jpeg, authorization: 'Bearer token' })).toBe(400)
  expect(await objects.head('uploads/a b/ü')).toBeUndefined()
  expect(await put(url, 'first', jpeg)).toBe(200)
  expect(await put(url, 'second', jpeg)).toBe(200)
  expect(await textOf('uploads/a b/ü')).toBe('second')
  expect(await objects.head('uploads/a b/ü')).toMatchObject({ bytes: 6 })
})

test('an address says when it ends, and is refused from then on', async () => {
  // Signatures know whole seconds only: what is signed late in one does not live longer.
  const signed = new Date('2026-03-01T10:00:07.999Z')
  for (const address of [await clientAt(signed).presignWrite('uploads/late', 'image/jpeg', 60), await clientAt(signed).presignRead('uploads/late', 60)]) {
    expect(address.expiresAt.toISOString()).toBe('2026-03-01T10:01:07.000Z')
    expect(new URL(address.url).searchParams.get('X-Amz-Date')).toBe('20260301T100007Z')
  }
  const minuteAgo = clientAt(new Date(Date.now() - 61_000))
  expect(await put((await minuteAgo.presignWrite('uploads/late', 'image/jpeg', 60)).url, 'late', jpeg)).toBe(403)
  expect(await objects.head('uploads/late')).toBeUndefined()
  expect(await put((await minuteAgo.presignWrite('uploads/late', 'image/jpeg', 3600)).url, 'in time', jpeg)).toBe(200)
})

test('a copy is made of the version that was looked at, and of no other', async () => {
  await objects.put('uploads/one', Buffer.from('looked at'), 'image/png')
  const looked = await objects.head('uploads/one')
  const etag = looked?.etag ?? ''
  expect(await objects.copy({ key: 'uploads/one', etag }, 'images/one')).toBe(true)
  await objects.put('uploads/one', Buffer.from('put after'), 'image/png')
  expect(await objects.copy({ key: 'uploads/one', etag }, 'images/two')).toBe(false)
  expect(await objects.copy({ key: 'uploads/none', etag }, 'images/two')).toBe(false)
  expect(await textOf('images/one')).toBe('looked at')
  expect(await objects.head('images/two')).toBeUndefined()
})

test('a large object is read in chunks, and nothing is told of what is not there', async () => {
  const bytes = randomBytes(5_000_000)
  await objects.put('images/large', bytes, 'image/jpeg')
  expect((await objects.head('images/large'))?.bytes).toBe(bytes.length)
  const chunks = await chunksOf('images/large')
  expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(1_000_000)
  expect(Buffer.concat(chunks).equals(bytes)).toBe(true)
  expect([await objects.read('images/none'), await objects.head('images/none')]).toEqual([undefined, undefined])
})

test('a store that is away is told as such by every call', async () => {
  const calls = [gone.head('a'), gone.read('a'), gone.copy({ key: 'a', etag: '"b"' }, 'c'), gone.put('a', Buffer.from('x'), 'image/png')]
  expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => 'object-store-unavailable'))
})

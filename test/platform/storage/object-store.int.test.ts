import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { CreateMultipartUploadCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listenOnLoopback } from '../../../embedded/children/loopback-server.ts'
import { connectObjectStore, type ListedObject, type ObjectStore } from '../../../platform/storage/object-store.ts'
import { Problem } from '../../../platform/http/problems.ts'
import { OutsideCalls } from '../../../platform/outbound/outside-calls.ts'
import { hostedObjectStore } from '../../support/hosted-stand-ins.ts'

const account = { accessKeyId: 'test-key', secretAccessKey: 'test-secret' }
const region = 'eu-central-1'
const bucket = 'images'

let server: Awaited<ReturnType<typeof hostedObjectStore>>
let objects: ObjectStore
/** A store that does not answer. */
let gone: ObjectStore

beforeAll(async () => {
  server = await hostedObjectStore({ bucket, ...account })
  objects = connectObjectStore({ endpoint: server.endpoint, region, bucket, ...account, now: () => new Date() })
  gone = connectObjectStore({ endpoint: 'http://127.0.0.1:1', region, bucket, ...account, now: () => new Date() })
})

afterAll(async () => {
  objects.close()
  gone.close()
  await server.stop()
})

const clientAt = (now: Date) =>
  connectObjectStore({ endpoint: server.endpoint, region, bucket, ...account, now: () => now })

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

async function listed(store: ObjectStore, prefix: string): Promise<ListedObject[]> {
  const found: ListedObject[] = []
  for await (const object of store.list(prefix)) found.push(object)
  return found
}

const textOf = async (key: string) => Buffer.concat(await chunksOf(key)).toString()

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  )
}

const jpeg = { 'content-type': 'image/jpeg' }

test('clients and services get the address by which each one reaches the store', async () => {
  const byAnotherName = `http://localhost:${new URL(server.endpoint).port}`
  const both = connectObjectStore({
    endpoint: server.endpoint,
    publicEndpoint: byAnotherName,
    region,
    bucket,
    ...account,
    now: () => new Date(),
  })
  const write = await both.presignWrite('uploads/named', 'image/jpeg', 60)
  expect(await put(write.url, 'a photograph', jpeg)).toBe(200)
  const addresses = [
    write,
    await both.presignDownload('uploads/named', 60),
    await both.presignRead('uploads/named', 60),
  ]
  expect(addresses.map(({ url }) => new URL(url).origin)).toEqual([byAnotherName, byAnotherName, server.endpoint])
  for (const { url } of addresses.slice(1)) expect(await (await fetch(url)).text()).toBe('a photograph')
  both.close()
})

test('a write address accepts the signed type, repeatedly, without credentials', async () => {
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

test('a write address with a length accepts only that length', async () => {
  const { url } = await objects.presignWrite('uploads/sized', 'image/jpeg', 60, 5)
  expect(new URL(url).searchParams.get('X-Amz-SignedHeaders')).toBe('content-length;content-type;host')
  expect([await put(url, 'four', jpeg), await put(url, 'sixsix', jpeg), await put(url, 'fives', {})]).toEqual([
    403, 403, 403,
  ])
  expect(await objects.head('uploads/sized')).toBeUndefined()
  expect(await put(url, 'fives', jpeg)).toBe(200)
})

test('an address contains its expiry, and is refused after it', async () => {
  // Signatures have whole seconds. An address signed late in a second does not live longer.
  const signed = new Date('2026-03-01T10:00:07.999Z')
  for (const address of [
    await clientAt(signed).presignWrite('uploads/late', 'image/jpeg', 60),
    await clientAt(signed).presignRead('uploads/late', 60),
  ]) {
    expect(address.expiresAt.toISOString()).toBe('2026-03-01T10:01:07.000Z')
    expect(new URL(address.url).searchParams.get('X-Amz-Date')).toBe('20260301T100007Z')
  }
  const minuteAgo = clientAt(new Date(Date.now() - 61_000))
  expect(await put((await minuteAgo.presignWrite('uploads/late', 'image/jpeg', 60)).url, 'late', jpeg)).toBe(403)
  expect(await objects.head('uploads/late')).toBeUndefined()
  expect(await put((await minuteAgo.presignWrite('uploads/late', 'image/jpeg', 3600)).url, 'in time', jpeg)).toBe(200)
})

test('a copy is made only of the version that was read', async () => {
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

test('a large object is read in chunks; a missing object is undefined', async () => {
  const bytes = randomBytes(5_000_000)
  await objects.put('images/large', bytes, 'image/jpeg')
  expect((await objects.head('images/large'))?.bytes).toBe(bytes.length)
  const chunks = await chunksOf('images/large')
  expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(1_000_000)
  expect(Buffer.concat(chunks).equals(bytes)).toBe(true)
  expect([await objects.read('images/none'), await objects.head('images/none')]).toEqual([undefined, undefined])
})

const known = (bytes: Uint8Array) => ({ bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') })

async function* inChunks(bytes: Buffer, size = 100_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

test('bytes in chunks are stored like bytes in one piece', async () => {
  for (const bytes of [randomBytes(5_000_001), randomBytes(1), Buffer.alloc(0)]) {
    const key = `images/streamed-${bytes.length}`
    expect(await objects.putStream(key, () => inChunks(bytes), known(bytes), 'image/png')).toEqual({
      key,
      ...known(bytes),
    })
    expect(Buffer.concat(await chunksOf(key)).equals(bytes)).toBe(true)
  }
  const { url } = await objects.presignRead('images/streamed-1', 60)
  const response = await fetch(url)
  await response.arrayBuffer()
  expect(response.headers.get('content-type')).toBe('image/png')
})

test('bytes that differ from the announcement are not stored, and not retried', async () => {
  const bytes = randomBytes(300_000)
  const wrong = [
    { ...known(bytes), sha256: known(Buffer.from('others')).sha256 },
    { ...known(bytes), bytes: bytes.length + 1 },
    { ...known(bytes), bytes: bytes.length - 1 },
    { ...known(bytes), bytes: 0 },
  ]
  for (const announced of wrong) {
    let begun = 0
    const chunks = () => {
      begun += 1
      return inChunks(bytes)
    }
    expect(await codeOf(objects.putStream('images/wrong', chunks, announced, 'image/png'))).toBe(
      'object-store-unavailable',
    )
    expect(begun).toBe(1)
    expect(await objects.head('images/wrong')).toBeUndefined()
  }
})

test('a source that breaks off is restarted at most twice', async () => {
  const bytes = randomBytes(300_000)
  const breaking = (often: number) => {
    let begun = 0
    return async function* (): AsyncGenerator<Buffer> {
      begun += 1
      yield bytes.subarray(0, 100_000)
      if (begun <= often) throw new Error('the source broke off')
      yield bytes.subarray(100_000)
    }
  }
  expect(await objects.putStream('images/resumed', breaking(2), known(bytes), 'image/png')).toEqual({
    key: 'images/resumed',
    ...known(bytes),
  })
  expect(Buffer.concat(await chunksOf('images/resumed')).equals(bytes)).toBe(true)
  expect(await codeOf(objects.putStream('images/broken', breaking(3), known(bytes), 'image/png'))).toBe(
    'object-store-unavailable',
  )
  expect(await objects.head('images/broken')).toBeUndefined()
})

test('objects with a common prefix are listed', async () => {
  const before = Date.now() - 1_000
  const keys = ['staging/part/0/a', 'staging/part/0/b', 'staging/part/1/a']
  for (const key of [...keys, 'staged/elsewhere']) await objects.put(key, Buffer.from('x'), 'image/png')
  const found = await listed(objects, 'staging/')
  expect(found.map(({ key }) => key).toSorted()).toEqual(keys)
  for (const { modifiedAt } of found) expect(modifiedAt.getTime()).toBeGreaterThan(before)
  expect(await listed(objects, 'nothing/')).toEqual([])
})

// A store of its own, because the stand-in has pages of 1,000 objects. `many-objects.int` lists more than one of them.
test('objects are listed page after page', async () => {
  const pages = [['staging/a', 'staging/b'], ['staging/c', 'staging/d'], ['staging/e']]
  const asked: (string | null)[] = []
  const paged = createHttpServer(({ url }, response) => {
    const token = new URL(url ?? '', 'http://store').searchParams.get('continuation-token')
    asked.push(token)
    const page = Number(token ?? '0')
    const contents = (pages[page] ?? []).map(
      (key) => `<Contents><Key>${key}</Key><LastModified>2030-01-01T00:00:00.000Z</LastModified></Contents>`,
    )
    const next = page + 1 < pages.length ? `<NextContinuationToken>${page + 1}</NextContinuationToken>` : ''
    response.writeHead(200, { 'content-type': 'application/xml' })
    response.end(`<ListBucketResult>${contents.join('')}${next}</ListBucketResult>`)
  })
  const endpoint = `http://127.0.0.1:${await listenOnLoopback(paged, 'object store', 0)}`
  const store = connectObjectStore({ endpoint, region, bucket, ...account, now: () => new Date() })
  try {
    const modifiedAt = new Date('2030-01-01T00:00:00.000Z')
    expect(await listed(store, 'staging/')).toEqual(pages.flat().map((key) => ({ key, modifiedAt })))
    expect(asked).toEqual([null, '1', '2'])
  } finally {
    store.close()
    paged.close()
  }
})

test('every call to an unavailable store reports it', async () => {
  const calls = [
    gone.head('a'),
    gone.read('a'),
    gone.copy({ key: 'a', etag: '"b"' }, 'c'),
    gone.put('a', Buffer.from('x'), 'image/png'),
    gone.putStream('a', () => inChunks(Buffer.from('x')), known(Buffer.from('x')), 'image/png'),
    listed(gone, 'a'),
    gone.get('a'),
    gone.remove('a'),
  ]
  expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => 'object-store-unavailable'))
})

/** Calls a server that takes connections and sends only this text, with a small time limit. */
async function withHanging(text: string, use: (store: ObjectStore, calls: OutsideCalls) => Promise<void>) {
  const sockets = new Set<Socket>()
  const hanging = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => socket.write(text))
  })
  await once(hanging.listen(0, '127.0.0.1'), 'listening')
  const address = hanging.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const calls = new OutsideCalls()
  const store = connectObjectStore({
    endpoint: `http://127.0.0.1:${address.port}`,
    region,
    bucket,
    ...account,
    now: () => new Date(),
    callLimitMs: 200,
    readLimitMs: 200,
    chunkLimitMs: 200,
    calls,
  })
  try {
    await use(store, calls)
  } finally {
    store.close()
    hanging.close()
    for (const socket of sockets) socket.destroy()
  }
}

test('a store that hangs is unavailable after the time limit', async () => {
  await withHanging('', async (store, calls) => {
    const made = [
      store.put('a', Buffer.from('x'), 'image/png'),
      store.put('a', randomBytes(3_000_000), 'image/png'),
      store.get('a'),
      listed(store, 'a'),
      store.head('a'),
      store.read('a'),
      store.copy({ key: 'a', etag: '"b"' }, 'c'),
      store.remove('a'),
      store.removeVersions('a'),
      store.abandonParts('a'),
    ]
    expect(await Promise.all(made.map(codeOf))).toEqual(made.map(() => 'object-store-unavailable'))
    // No call was repeated, and the operator sees what happened.
    expect(calls.take()).toMatchObject([{ failures: made.length, error: { code: 'timeout' } }])
  })
  const head = ['HTTP/1.1 200 OK', 'ETag: "b"', 'Content-Type: application/xml', 'Content-Length: 9', '', ''].join(
    '\r\n',
  )
  await withHanging(head, async (store) => {
    const made = [store.get('a'), listed(store, 'a'), store.removeVersions('a'), store.abandonParts('a')]
    expect(await Promise.all(made.map(codeOf))).toEqual(made.map(() => 'object-store-unavailable'))
  })
})

test('a reader may take its time, and a store that stops sending may not', async () => {
  const bytes = randomBytes(3_000_000)
  await objects.put('images/slowly-read', bytes, 'image/jpeg')
  const options = { region, bucket, ...account, now: () => new Date(), readLimitMs: 300 }
  const store = connectObjectStore({ endpoint: server.endpoint, ...options })
  const chunks: Buffer[] = []
  for await (const chunk of (await store.read('images/slowly-read'))?.chunks ?? []) {
    // Longer than the limit, and the connection has more bytes than it can hold.
    if (chunks.length === 0) await sleep(600)
    chunks.push(chunk)
  }
  expect(Buffer.concat(chunks).equals(bytes)).toBe(true)
  store.close()

  const head = ['HTTP/1.1 200 OK', 'ETag: "b"', 'Content-Length: 9', '', 'four'].join('\r\n')
  await withHanging(head, async (hanging) => {
    const read = async () => {
      for await (const _ of (await hanging.read('a'))?.chunks ?? []) continue
    }
    expect(await codeOf(read())).toBe('object-store-unavailable')
  })
})

test('the source of an upload may take its time, and a store that takes no bytes may not', async () => {
  const bytes = randomBytes(3_000_000)
  const known = { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  async function* slowly() {
    for (let from = 0; from < bytes.length; from += 1_000_000) {
      yield bytes.subarray(from, from + 1_000_000)
      await sleep(1_000)
    }
  }
  const options = { region, bucket, ...account, now: () => new Date(), chunkLimitMs: 2_000 }
  const store = connectObjectStore({ endpoint: server.endpoint, ...options })
  // Longer than the limit.
  await store.putStream('images/slowly-sent', slowly, known, 'image/jpeg')
  expect(Buffer.from(await objects.get('images/slowly-sent')).equals(bytes)).toBe(true)
  store.close()

  await withHanging('HTTP/1.1 100 Continue\r\n\r\n', async (hanging) => {
    const source = () => Readable.from([bytes])
    expect(await codeOf(hanging.putStream('a', source, known, 'image/jpeg'))).toBe('object-store-unavailable')
  })
})

test("a caller's signal ends a call before the time limit", async () => {
  const ended = AbortSignal.abort(new DOMException('the caller has gone', 'AbortError'))
  await withHanging('', async (store, calls) => {
    expect(await codeOf(store.head('a', ended))).toBe('object-store-unavailable')
    expect(calls.take()).toEqual([])
  })
})

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
}

test('a stream of unknown length is stored in parts', async () => {
  const signal = new AbortController().signal
  for (const length of [0, 1, 8 * 1024 ** 2, 20_000_000]) {
    const bytes = randomBytes(length)
    const stored = await objects.putParts('exports/one.zip', pieces(bytes, 300_000), 'application/zip', signal)
    expect(stored).toEqual({
      key: 'exports/one.zip',
      bytes: length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    })
    expect(Buffer.concat(await chunksOf('exports/one.zip')).equals(bytes)).toBe(true)
  }
  const address = await objects.presignDownload('exports/one.zip', 60)
  expect((await fetch(address.url, { method: 'GET' })).headers.get('content-type')).toBe('application/zip')
})

test('of a source that fails, or an aborted upload, nothing is stored and nothing is left', async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield randomBytes(9_000_000)
    throw new Error('the source is gone')
  }
  const ending = new AbortController()
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (let count = 0; ; count += 1) {
      if (count === 3) ending.abort(new Error('the worker stops'))
      yield randomBytes(9_000_000)
    }
  }
  const signal = new AbortController().signal
  await expect(objects.putParts('exports/broken', broken(), 'application/zip', signal)).rejects.toThrow(
    'source is gone',
  )
  await expect(objects.putParts('exports/endless', endless(), 'application/zip', ending.signal)).rejects.toThrow()
  expect(await listed(objects, 'exports/broken')).toEqual([])
  expect(await listed(objects, 'exports/endless')).toEqual([])
  expect(await readdir(join(server.dataDir, 'uploads'))).toEqual([])
})

test('uploads that a crash left are ended, and no others', async () => {
  const client = new S3Client({
    endpoint: server.endpoint,
    region,
    forcePathStyle: true,
    credentials: account,
    requestChecksumCalculation: 'WHEN_REQUIRED',
  })
  const begin = (Key: string) => client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }))
  const [left, other] = await Promise.all([begin('exports/org/a/1'), begin('exports/org/b/1')])
  await objects.abandonParts('exports/org/a/')
  await objects.abandonParts('exports/org/a/')
  expect(await readdir(join(server.dataDir, 'uploads'))).toEqual([other.UploadId])
  const late = { Bucket: bucket, Key: 'exports/org/a/1', UploadId: left.UploadId, PartNumber: 1, Body: 'late' }
  await expect(client.send(new UploadPartCommand(late))).rejects.toMatchObject({ name: 'NoSuchUpload' })
  await objects.abandonParts('exports/org/')
  client.destroy()
  expect(await codeOf(gone.abandonParts('exports/'))).toBe('object-store-unavailable')
  expect(await codeOf(gone.putParts('a', pieces(Buffer.from('a'), 1), 'a/b', new AbortController().signal))).toBe(
    'object-store-unavailable',
  )
})

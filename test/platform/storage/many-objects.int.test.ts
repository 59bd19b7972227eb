import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectObjectStore, type ListedObject, type ObjectStore } from '../../../platform/storage/object-store.ts'
import { hostedObjectStore } from '../../support/hosted-stand-ins.ts'

const account = { accessKeyId: 'test-key', secretAccessKey: 'test-secret', region: 'eu-central-1', bucket: 'images' }

let server: Awaited<ReturnType<typeof hostedObjectStore>>
let objects: ObjectStore

beforeAll(async () => {
  server = await hostedObjectStore(account)
  objects = connectObjectStore({ endpoint: server.endpoint, ...account, now: () => new Date() })
})
afterAll(async () => {
  objects.close()
  await server.stop()
})

test('more than 1,000 objects with a common prefix are listed, page after page', async () => {
  const before = Date.now() - 1_000
  const keys = Array.from({ length: 1_005 }, (_, index) => `staging/part/0/${String(index).padStart(4, '0')}`)
  const waiting = [...keys]
  const putNext = async (): Promise<void> => {
    for (let key = waiting.pop(); key !== undefined; key = waiting.pop())
      await objects.put(key, Buffer.from('x'), 'image/png')
  }
  await Promise.all(Array.from({ length: 20 }, putNext))
  await objects.put('staged/elsewhere', Buffer.from('x'), 'image/png')
  const found: ListedObject[] = []
  for await (const object of objects.list('staging/')) found.push(object)
  expect(found.map(({ key }) => key).toSorted()).toEqual(keys)
  for (const { modifiedAt } of found) expect(modifiedAt.getTime()).toBeGreaterThan(before)
})

test('of a long stream only a few parts are in memory', async () => {
  const chunk = randomBytes(1_000_000)
  let most = 0
  const before = process.memoryUsage().arrayBuffers
  async function* long(): AsyncGenerator<Uint8Array> {
    for (let count = 0; count < 170; count += 1) {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
      yield chunk
    }
  }
  const { bytes } = await objects.putParts('exports/long', long(), 'application/zip', new AbortController().signal)
  expect(bytes).toBe(170_000_000)
  expect(most).toBeLessThan(150_000_000)
})

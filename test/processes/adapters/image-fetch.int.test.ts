import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import { connectObjectStore, type ObjectStore } from '../../../platform/storage/object-store.ts'
import { createImageFetch } from '../../../processes/adapters/image-fetch.ts'
import { hostedObjectStore } from '../../support/hosted-stand-ins.ts'

const account = { accessKeyId: 'test', secretAccessKey: randomUUID() }
const bucket = 'assessments'
const signal = new AbortController().signal

let store: Awaited<ReturnType<typeof hostedObjectStore>>
const closers: (() => Promise<void> | void)[] = []

beforeAll(async () => {
  store = await hostedObjectStore({ bucket, ...account })
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})
afterAll(async () => {
  await store.stop()
})

async function worldWith(publicEndpoint: string): Promise<{ readonly objects: ObjectStore; readonly egress: Egress }> {
  const objects = connectObjectStore({
    endpoint: store.endpoint,
    publicEndpoint,
    region: 'us-east-1',
    bucket,
    ...account,
    now: () => new Date(),
  })
  const egress = createEgress({
    configuration: loadConfiguration({
      S3_ENDPOINT: store.endpoint,
      S3_PUBLIC_ENDPOINT: publicEndpoint,
      S3_ACCESS_KEY_ID: account.accessKeyId,
      S3_SECRET_ACCESS_KEY: account.secretAccessKey,
    }),
  })
  closers.push(
    () => egress.close(),
    () => objects.close(),
  )
  await objects.put('photo', Buffer.from('bytes of a photo'), 'image/jpeg')
  return { objects, egress }
}

/** Nothing listens there, as in a container where the public address is the container itself. */
const closedPort = async () => `http://127.0.0.1:${await freePort()}`
/** A name that never resolves, with TLS that S3_ENDPOINT does not have. */
const unknownHost = () => Promise.resolve('https://images.invalid')

describe.each([
  ['a closed port', closedPort],
  ['an unknown host with TLS', unknownHost],
])('an image at the public address of the object store, %s', (_, address) => {
  it('is read at S3_ENDPOINT, under the host that its address signs', async () => {
    const publicEndpoint = await address()
    const { objects, egress } = await worldWith(publicEndpoint)
    const { url } = await objects.presignDownload('photo', 60)
    expect(new URL(url).origin).toBe(publicEndpoint)
    const image = await createImageFetch(egress).open(url, 5_000, signal)
    if (image.kind !== 'image') throw new Error(`the image is ${image.kind}`)
    expect([image.contentType, await text(image.body)]).toEqual(['image/jpeg', 'bytes of a photo'])
  })

  it('is refused by the store when another host was signed', async () => {
    const publicEndpoint = await address()
    const { objects, egress } = await worldWith(publicEndpoint)
    const { url } = await objects.presignRead('photo', 60)
    const moved = url.replace(store.endpoint, publicEndpoint)
    expect(await createImageFetch(egress).open(moved, 5_000, signal)).toEqual({ kind: 'refused', status: 403 })
  })
})

it('an address of the object store is not read at S3_ENDPOINT for other purposes', async () => {
  const { objects, egress } = await worldWith(await closedPort())
  const { url } = await objects.presignDownload('photo', 60)
  for (const purpose of ['webhook', 'service', 'provider'] as const) {
    await expect(egress.request(url, { purpose, timeoutMs: 5_000, maxBytes: 100 })).rejects.toMatchObject({
      code: 'address_forbidden',
    })
  }
})

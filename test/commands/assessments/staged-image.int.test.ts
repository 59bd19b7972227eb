import { createHash, randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { StagedImage } from '../../../commands/assessments/staged-image.ts'
import type { ObjectStore } from '../../../platform/storage/object-store.ts'
import { problem } from '../../../platform/http/problems.ts'
import { problemOf } from '../../engine/commands/decision-world.ts'
import { openStageWorld, type StageWorld } from './stage-world.ts'

const KiB = 1024
const MiB = 1024 * KiB

let world: StageWorld

beforeAll(async () => {
  world = await openStageWorld()
})
afterAll(() => world.close())
afterEach(async () => {
  for (const key of await world.keys()) await world.objects.remove(key)
})

const jpeg = (bytes: number) => Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), randomBytes(bytes - 4)])
const base64 = (bytes: Buffer) => bytes.toString('base64')

function existing(image: StagedImage | undefined): StagedImage {
  if (image === undefined) throw new Error('no image is staged there')
  return image
}

async function stored(image: StagedImage | undefined, key: string): Promise<Buffer> {
  const known = existing(image).inspect('image/jpeg')
  const object = await existing(image).store(key, known, 'image/jpeg')
  const bytes = Buffer.from(await world.objects.get(key))
  expect(object).toEqual({ key, sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length })
  return bytes
}

it('keeps images in memory if their sum is small, and makes no call to the object store', async () => {
  const images = [jpeg(600 * KiB), jpeg(424 * KiB)]
  const staged = await world.stage(images.map(base64))
  expect(await world.keys()).toEqual([])
  expect([0, 1].map((place) => [staged.at(place)?.isBase64(), staged.at(place)?.size()])).toEqual(
    images.map(({ length }) => [true, length]),
  )
  for (const [place, bytes] of images.entries())
    expect((await stored(staged.at(place), `images/${place}`)).equals(bytes)).toBe(true)
})

it('sends large images in pieces, each under its own key and all in one folder, and stores them whole', async () => {
  const images = [jpeg(3 * MiB), jpeg(500 * KiB), jpeg(5 * MiB + 1), jpeg(600 * KiB)]
  const staged = await world.stage(images.map(base64))
  const keys = await world.keys()
  const [request = ''] = keys.map((key) => key.slice(0, -'-0-0'.length))
  // A folder of the request would stay in an object store of files, and each sweep would read it.
  expect(request).toMatch(/^staging\/[0-9a-f]{24}$/)
  // The two small images together are too large for memory, so the second one also goes to the object store.
  expect(keys).toEqual(['0-0', '0-1', '2-0', '2-1', '2-2', '3-0'].map((piece) => `${request}-${piece}`))
  for (const [place, bytes] of images.entries())
    expect((await stored(staged.at(place), `images/${place}`)).equals(bytes)).toBe(true)
  await staged.discard()
  expect(await world.keys()).toEqual(['images/0', 'images/1', 'images/2', 'images/3'])
})

it('removes its objects when it is discarded, also repeatedly', async () => {
  const staged = await world.stage([base64(jpeg(3 * MiB)), base64(jpeg(10))])
  expect(await world.keys()).toHaveLength(2)
  await Promise.all([staged.discard(), staged.discard()])
  await staged.discard()
  expect(await world.keys()).toEqual([])
})

it('stops at once, and leaves no object, when it is discarded while a piece is being stored', async () => {
  const [reached, sent] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const put: ObjectStore['put'] = async (...args) => {
    reached.resolve()
    await sent.promise
    return world.objects.put(...args)
  }
  const staged = await world.stage([], { put })
  staged.begin(0)
  const writing = staged.write(Buffer.from(base64(jpeg(5 * MiB))))
  await reached.promise
  await staged.discard()
  sent.resolve()
  await writing
  await staged.end()
  expect(await world.keys()).toEqual([])
})

it('removes all pieces of one place, also if invalid JSON contains the place twice', async () => {
  const staged = await world.stage([])
  for (const image of [jpeg(3 * MiB), jpeg(2 * MiB)]) {
    staged.begin(0)
    await staged.write(Buffer.from(base64(image)))
    await staged.end()
  }
  expect(await world.keys()).toHaveLength(3)
  await staged.discard()
  expect(await world.keys()).toEqual([])
})

it('counts only what is too large: 20 MiB each, 45 MiB in all, ten images', async () => {
  const large = base64(jpeg(20 * MiB + 1))
  const one = await world.stage([large])
  expect([one.at(0)?.size(), one.at(0)?.isBase64()]).toEqual([20 * MiB + 1, true])
  await one.discard()
  expect(await world.keys()).toEqual([])

  const puts: number[] = []
  const put: ObjectStore['put'] = async (key, bytes) => {
    puts.push(bytes.length)
    return { key, sha256: '', bytes: bytes.length }
  }
  const many = await world.stage(
    Array.from({ length: 12 }, (_, place) => (place < 3 ? base64(jpeg(15 * MiB + 1)) : base64(jpeg(4 * MiB)))),
    { put },
  )
  expect(puts.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(45 * MiB)
  expect([many.at(9)?.size(), many.at(10), many.at(11)]).toEqual([4 * MiB, undefined, undefined])
})

it('keeps at most one piece of large images in memory, for any number of images', async () => {
  let most = 0
  const put: ObjectStore['put'] = async (key, bytes) => {
    most = Math.max(most, bytes.buffer.byteLength)
    return { key, sha256: '', bytes: bytes.length }
  }
  await world.stage(
    Array.from({ length: 10 }, () => base64(jpeg(4 * MiB))),
    { put },
  )
  expect(most).toBe(2 * MiB)
})

it('reports text that is not base64, and still counts its bytes', async () => {
  const broken = base64(jpeg(2 * MiB))
  const staged = await world.stage([`${broken.slice(0, -8)}@@@@${broken.slice(-4)}`, '', undefined, 'QQ'])
  expect([0, 1, 3].map((place) => staged.at(place)?.isBase64())).toEqual([false, false, false])
  expect([staged.at(0)?.size(), staged.at(2)]).toEqual([2 * MiB, undefined])
  await staged.discard()
})

it('stores nothing of an image with missing or changed pieces', async () => {
  const staged = await world.stage([base64(jpeg(5 * MiB)), base64(jpeg(5 * MiB))])
  const [first = '', second = '', ...others] = await world.keys()
  await world.objects.remove(second)
  await world.objects.put(others[1] ?? '', randomBytes(2 * MiB), 'application/octet-stream')
  for (const place of [0, 1])
    expect(await problemOf(stored(staged.at(place), `images/${place}`))).toBe('object-store-unavailable')
  expect((await world.keys()).filter((key) => key.startsWith('images/'))).toEqual([])
  expect(first).toMatch(/^staging\//)
})

it('stops when the object store is unavailable, and removes the stored pieces', async () => {
  let puts = 0
  const put: ObjectStore['put'] = async (...args) => {
    puts += 1
    if (puts === 2) throw problem('object-store-unavailable')
    return world.objects.put(...args)
  }
  const staged = await world.stage([], { put })
  staged.begin(0)
  const text = Buffer.from(base64(jpeg(5 * MiB)))
  expect(await problemOf(staged.write(text))).toBe('object-store-unavailable')
  expect(await world.keys()).toHaveLength(1)
  await staged.discard()
  expect(await world.keys()).toEqual([])
  expect(puts).toBe(2)
})

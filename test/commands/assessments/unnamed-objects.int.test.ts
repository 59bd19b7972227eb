import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freezeUploads } from '../../../commands/assessments/freeze-uploads.ts'
import { storeImages } from '../../../commands/assessments/store-images.ts'
import { removeUnnamed } from '../../../commands/assessments/unnamed-objects.ts'
import { uploadKey } from '../../../commands/assessments/uploads.ts'
import { problem } from '../../../platform/http/problems.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { problemOf } from '../../engine/commands/decision-world.ts'
import { openStageWorld, type StageWorld } from './stage-world.ts'

const orgId = tenantOfFact(randomUUID())
const ownerId = randomUUID()
const declared = { imageId: randomUUID(), captureType: 'dermoscopic', mimeType: 'image/jpeg' } as const
const given = { now: () => new Date('2026-01-01T00:00:00Z'), randomPart: () => 'part' }

/** The store takes no bytes any more, and answers no removal. */
const away = async (): Promise<never> => {
  throw problem('object-store-unavailable', { retryAfterSeconds: 2 })
}
function hanging() {
  const keys: string[] = []
  const remove = async (key: string): Promise<void> => {
    keys.push(key)
    await new Promise(() => undefined)
  }
  return { keys, remove }
}

let world: StageWorld

beforeAll(async () => {
  world = await openStageWorld()
})
afterAll(() => world.close())

it('removes what a refused request stored, before the refusal', async () => {
  await world.objects.put('images/one', Buffer.from('one'), 'image/jpeg')
  await removeUnnamed(world.objects, ['images/one'], problem('conflict'))
  expect(await world.keys()).toEqual([])
})

it('answers for a store that is away without waiting for it once more: a piece', async () => {
  const { keys, remove } = hanging()
  const staged = await world.stage([], { put: away, remove })
  staged.begin(0)
  const text = Buffer.from(randomBytes(3_000_000).toString('base64'))
  expect(await problemOf(staged.write(text))).toBe('object-store-unavailable')
  await staged.discard()
  expect(keys).toHaveLength(1)
})

it('answers for a store that is away without waiting for it once more: an image', async () => {
  const { keys, remove } = hanging()
  const image = { sha256: '', bytes: 1, isOfType: true, width: 1, height: 1, store: away }
  const stored = storeImages(
    { objects: { remove }, ...given },
    { orgId, ownerId, declared: [declared], checked: [image] },
  )
  expect(await problemOf(stored)).toBe('object-store-unavailable')
  expect(keys).toHaveLength(1)
})

it('answers for a store that is away without waiting for it once more: an upload', async () => {
  const { keys, remove } = hanging()
  await world.objects.put(uploadKey(orgId, ownerId, declared.imageId), Buffer.from('one'), 'image/jpeg')
  const objects = { ...world.objects, copy: away, remove }
  const frozen = freezeUploads(
    { objects, ...given, requiresDimensions: false },
    { organisationId: orgId, ownerId, images: [declared] },
  )
  expect(await problemOf(frozen)).toBe('object-store-unavailable')
  expect(keys).toHaveLength(1)
})

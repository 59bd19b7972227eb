import { randomBytes, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AssessmentRouteDependencies } from '../../../commands/assessments/dependencies.ts'
import { uploadKey } from '../../../commands/assessments/uploads.ts'
import { receiveUpload } from '../../../commands/images/uploads.ts'
import type { ObjectStore } from '../../../platform/storage/object-store.ts'
import { images, type ImageState } from '../../../streams/image/aggregate.ts'
import { AppendOutcomeUnknownError } from '../../../engine/store/errors.ts'
import { hash } from '../../streams/facts.ts'
import { imageFact } from '../../streams/image-facts.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { contextOf, problemOf, watched } from '../../engine/commands/decision-world.ts'

const jpeg = await readFile(new URL('../../../embedded/photos/lesion-1.jpg', import.meta.url))
const photo = () => Buffer.concat([jpeg, randomBytes(16)])

let world: ProcessWorld

beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())

/** The id of an image that awaits a JPEG for an hour. */
async function declared(): Promise<string> {
  const imageId = randomUUID()
  const closesAt = new Date(world.now().getTime() + 3_600_000).toISOString()
  const fact = imageFact('ImageDeclared', { imageId, organisationId: world.orgId, closesAt })
  await world.store.append(images.of(world.orgId, imageId), 'no_stream', [fact], contextOf(world))
  return imageId
}

const keyOf = (imageId: string) => uploadKey(world.orgId, imageId, imageId)
const upload = (imageId: string, bytes = photo()) => world.deps.objects.put(keyOf(imageId), bytes, 'image/jpeg')

async function uploaded(): Promise<string> {
  const imageId = await declared()
  await upload(imageId)
  return imageId
}

const given = (): AssessmentRouteDependencies => ({
  ...world.deps,
  newId: () => randomUUID(),
  randomPart: () => randomBytes(12).toString('hex'),
})

function submit(imageId: string, deps: AssessmentRouteDependencies = given(), key = 'c') {
  const request = { key: hash(key), fingerprint: hash('d') }
  return receiveUpload(
    deps,
    { orgId: world.orgId, imageId, request, requireRevision: () => undefined },
    contextOf(world),
  )
}

async function stateOf(imageId: string): Promise<ImageState> {
  return (await world.otherStore.load(images.of(world.orgId, imageId))).state
}

/** The existing copies of the upload. */
async function copiesOf(imageId: string): Promise<string[]> {
  const today = world.now().toISOString().slice(0, 10)
  const keys: string[] = []
  for await (const { key } of world.deps.objects.list(`images/${today}/${world.orgId}/${imageId}/`)) keys.push(key)
  return keys
}

async function namedBy(imageId: string): Promise<string[]> {
  const state = await stateOf(imageId)
  return state.status === 'received' ? [state.object.key] : []
}

/** The object store, with a hook before each copy. */
function withObjects(before: (copy: number) => Promise<unknown>): AssessmentRouteDependencies {
  let copies = 0
  const copy: ObjectStore['copy'] = async (source, key) => {
    await before(++copies)
    return world.deps.objects.copy(source, key)
  }
  return { ...given(), objects: { ...world.deps.objects, copy } }
}

it('keeps the copy of only one submit when two processes submit at once', async () => {
  const imageId = await uploaded()
  const answers = await Promise.all([submit(imageId), submit(imageId, { ...given(), store: world.otherStore }, 'e')])
  expect(answers.filter(({ events }) => events.length > 0)).toHaveLength(1)
  expect(answers.map(({ state }) => state)).toEqual([await stateOf(imageId), await stateOf(imageId)])
  expect(await copiesOf(imageId)).toEqual(await namedBy(imageId))
  expect(await copiesOf(imageId)).toHaveLength(1)
})

it('returns the submission of another process that has removed the upload meanwhile', async () => {
  const imageId = await uploaded()
  const late = withObjects(async (copy) => {
    if (copy > 1) return
    await submit(imageId, { ...given(), store: world.otherStore }, 'e')
    await world.deps.objects.remove(keyOf(imageId))
  })
  const answer = await submit(imageId, late)
  expect([answer.events, answer.state]).toEqual([[], await stateOf(imageId)])
  expect(await copiesOf(imageId)).toEqual(await namedBy(imageId))
})

it('refuses bytes that are not an image, leaves no copy behind, and accepts the next upload', async () => {
  const imageId = await declared()
  expect(await problemOf(submit(imageId))).toBe('uploads-incomplete')
  await upload(imageId, Buffer.from('no image'))
  expect(await problemOf(submit(imageId))).toBe('image-invalid')
  expect([await copiesOf(imageId), (await stateOf(imageId)).status]).toEqual([[], 'awaiting_upload'])
  const bytes = photo()
  await upload(imageId, bytes)
  expect((await submit(imageId)).events).toHaveLength(1)
  const [key = ''] = await namedBy(imageId)
  expect(Buffer.from(await world.deps.objects.get(key)).equals(bytes)).toBe(true)
})

it('refuses when the window closes while the upload is read, and leaves no copy behind', async () => {
  const imageId = await uploaded()
  const slow = withObjects(async (copy) => copy === 1 && world.pass(3600))
  expect(await problemOf(submit(imageId, slow))).toBe('image-not-awaiting-upload')
  expect([await copiesOf(imageId), (await stateOf(imageId)).status]).toEqual([[], 'awaiting_upload'])
})

it('keeps the copy when the outcome of the append is unknown', async () => {
  const imageId = await uploaded()
  const store = watched(world.store, () => {
    throw new AppendOutcomeUnknownError(images.of(world.orgId, imageId).stream, 1)
  })
  await expect(submit(imageId, { ...given(), store })).rejects.toThrow(AppendOutcomeUnknownError)
  expect(await copiesOf(imageId)).toHaveLength(1)
})

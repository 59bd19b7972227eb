import { randomBytes, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AssessmentRouteDependencies } from '../../../commands/assessments/dependencies.ts'
import { submitUploads } from '../../../commands/assessments/submit-uploads.ts'
import { removeUploads, uploadKey } from '../../../commands/assessments/uploads.ts'
import type { ObjectStore } from '../../../platform/storage/object-store.ts'
import { assessments, type ExistingAssessment } from '../../../streams/assessment/aggregate.ts'
import { AppendOutcomeUnknownError } from '../../../engine/store/errors.ts'
import { assessmentFact, hash } from '../../streams/facts.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { contextOf, problemOf, watched } from '../../engine/commands/decision-world.ts'

const jpeg = await readFile(new URL('../../../embedded/photos/lesion-1.jpg', import.meta.url))
const photo = () => Buffer.concat([jpeg, randomBytes(16)])

let world: ProcessWorld
let s3: S3Client

beforeAll(async () => {
  world = await openProcessWorld()
  const { s3Endpoint = '', s3AccessKeyId = '', s3SecretAccessKey = '' } = world.deps.configuration
  s3 = new S3Client({
    endpoint: s3Endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey },
  })
})
afterAll(async () => {
  s3.destroy()
  await world.close()
})

interface Declared {
  readonly assessmentId: string
  readonly imageIds: readonly string[]
  readonly stream: string
}

/** An assessment that awaits JPEG images for an hour. */
async function declared(count = 2): Promise<Declared> {
  const assessmentId = randomUUID()
  const imageIds = Array.from({ length: count }, () => randomUUID())
  const images = imageIds.map((imageId) => ({ imageId, captureType: 'other' as const, mimeType: 'image/jpeg' }))
  const closesAt = new Date(world.now().getTime() + 3_600_000).toISOString()
  const stream = assessments.of(world.orgId, assessmentId).stream
  const story = [
    assessmentFact('AssessmentRequested', { assessmentId, organisationId: world.orgId, mode: 'slot', images }),
    assessmentFact('AssessmentUploadsAwaited', { assessmentId, closesAt }),
  ]
  await world.store.append({ fold: assessments, stream }, 'no_stream', story, contextOf(world))
  return { assessmentId, imageIds, stream }
}

const keyOf = ({ assessmentId, imageIds }: Declared, place: number) =>
  uploadKey(world.orgId, assessmentId, imageIds[place] ?? '')
const upload = (slot: Declared, place: number, bytes: Buffer) =>
  world.deps.objects.put(keyOf(slot, place), bytes, 'image/jpeg')

async function uploadAll(slot: Declared): Promise<void> {
  for (const place of slot.imageIds.keys()) await upload(slot, place, photo())
}

const given = (): AssessmentRouteDependencies => ({
  ...world.deps,
  newId: () => randomUUID(),
  randomPart: () => randomBytes(12).toString('hex'),
})

function submit({ assessmentId }: Declared, deps: AssessmentRouteDependencies = given(), key = 'c') {
  const request = { key: hash(key), fingerprint: hash('d') }
  return submitUploads(
    deps,
    { orgId: world.orgId, assessmentId, request, requireRevision: () => undefined },
    contextOf(world),
  )
}

async function stateOf({ stream }: Declared): Promise<ExistingAssessment> {
  const { state } = await world.otherStore.load({ fold: assessments, stream })
  if (state.status === 'absent') throw new Error('there is no such assessment')
  return state
}

/** The existing copies of an assessment's uploads. */
async function copiesOf({ assessmentId }: Declared): Promise<string[]> {
  const today = world.now().toISOString().slice(0, 10)
  const { Contents = [] } = await s3.send(
    new ListObjectsV2Command({ Bucket: 'assessments', Prefix: `images/${today}/${world.orgId}/${assessmentId}/` }),
  )
  return Contents.map(({ Key = '' }) => Key).toSorted()
}

async function namedBy(slot: Declared): Promise<string[]> {
  return (await stateOf(slot)).images.map((image) => ('object' in image ? image.object.key : 'none')).toSorted()
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

it('keeps the copies of only one submit when two processes submit at once', async () => {
  const slot = await declared()
  await uploadAll(slot)
  const answers = await Promise.all([submit(slot), submit(slot, { ...given(), store: world.otherStore }, 'e')])
  expect(answers.filter(({ events }) => events.length > 0)).toHaveLength(1)
  expect(new Set(answers.map(({ state }) => (state.status === 'processing' ? state.caseId : 'none'))).size).toBe(1)
  expect(await copiesOf(slot)).toEqual(await namedBy(slot))
})

it('returns the submission of another process that has removed the uploads meanwhile', async () => {
  const slot = await declared()
  await uploadAll(slot)
  const late = withObjects(async (copy) => {
    if (copy === 1)
      await removeUploads(
        world.deps.objects,
        (await submit(slot, { ...given(), store: world.otherStore }, 'e')).state as ExistingAssessment,
      )
  })
  const answer = await submit(slot, late)
  expect([answer.events, answer.state]).toEqual([[], await stateOf(slot)])
  expect(await copiesOf(slot)).toEqual(await namedBy(slot))
})

it('accepts the version that it copied when the upload is overwritten meanwhile', async () => {
  const slot = await declared(1)
  await uploadAll(slot)
  const later = photo()
  const { state } = await submit(
    slot,
    withObjects(async (copy) => copy === 1 && upload(slot, 0, later)),
  )
  const [key = ''] = await namedBy(slot)
  expect(Buffer.from(await world.deps.objects.get(key)).equals(later)).toBe(true)
  expect(state.status).toBe('processing')
})

it('gives up on an upload that changes during every copy, and leaves no copy behind', async () => {
  const slot = await declared()
  await uploadAll(slot)
  expect(
    await problemOf(
      submit(
        slot,
        withObjects(() => upload(slot, 1, photo())),
      ),
    ),
  ).toBe('conflict')
  expect([await copiesOf(slot), (await stateOf(slot)).status]).toEqual([[], 'awaiting_images'])
})

it('leaves no copy of valid images behind when another is invalid, and freezes all after it is replaced', async () => {
  const slot = await declared(3)
  await uploadAll(slot)
  await upload(slot, 2, Buffer.from('no image'))
  expect(await problemOf(submit(slot))).toBe('image-invalid')
  expect([await copiesOf(slot), (await stateOf(slot)).status]).toEqual([[], 'awaiting_images'])
  await upload(slot, 2, photo())
  expect((await submit(slot)).events).toHaveLength(2)
  expect(await copiesOf(slot)).toEqual(await namedBy(slot))
})

it('refuses when the window closes while the uploads are read, and leaves no copy behind', async () => {
  const slot = await declared()
  await uploadAll(slot)
  const slow = withObjects(async (copy) => copy === 1 && world.pass(3600))
  expect(await problemOf(submit(slot, slow))).toBe('assessment-not-awaiting-images')
  expect([await copiesOf(slot), (await stateOf(slot)).status]).toEqual([[], 'awaiting_images'])
})

it('keeps every copy when the outcome of the append is unknown', async () => {
  const slot = await declared()
  await uploadAll(slot)
  const store = watched(world.store, () => {
    throw new AppendOutcomeUnknownError(slot.stream, 1)
  })
  await expect(submit(slot, { ...given(), store })).rejects.toThrow(AppendOutcomeUnknownError)
  expect(await copiesOf(slot)).toHaveLength(2)
})

it('reads one image at a time, and each once', async () => {
  const slot = await declared(5)
  await uploadAll(slot)
  const reads: string[] = []
  let open = 0
  const read: ObjectStore['read'] = async (key) => {
    const found = await world.deps.objects.read(key)
    if (found === undefined) return undefined
    reads.push(key)
    async function* counted(chunks: AsyncIterable<Buffer>) {
      expect(++open).toBe(1)
      yield* chunks
      open -= 1
    }
    return { ...found, chunks: counted(found.chunks) }
  }
  await submit(slot, { ...given(), objects: { ...world.deps.objects, read } })
  expect(reads.toSorted()).toEqual(await namedBy(slot))
})

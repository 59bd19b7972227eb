import { randomBytes, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { assessmentWriteRoutes } from '../../../commands/assessments/routes.ts'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ObjectStore } from '../../../platform/storage/object-store.ts'
import { problem } from '../../../platform/http/problems.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { AppendOutcomeUnknownError, EventStoreUnavailableError } from '../../../engine/store/errors.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { interrupted, observed, watched } from '../../engine/commands/decision-world.ts'

const jpeg = await readFile(new URL('../../../embedded/photos/lesion-1.jpg', import.meta.url))
const photo = (bytes = 0) => Buffer.concat([jpeg, randomBytes(bytes + 16)])
const large = 1_200_000

let world: ProcessWorld
const apps: TestApplication[] = []

beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())
beforeEach(async () => {
  for (const key of await keys()) await world.deps.objects.remove(key)
})
afterEach(async () => {
  for (const { app } of apps.splice(0)) await app.close()
})

/** The routes of another process: over another store, or over one that a test interrupts. */
async function start(store: EventStore = world.store, objects: Partial<ObjectStore> = {}): Promise<TestApplication> {
  const deps = { ...world.deps, store, objects: { ...world.deps.objects, ...objects } }
  const app = await startApplication({
    services: [
      { prefix: 'clinical-api', documentedAt: 'prefixed', routes: (scope) => assessmentWriteRoutes(scope, deps) },
    ],
    checkReplies: true,
  })
  apps.push(app)
  return app
}

const patient = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' }
const bodyOf = (photos: readonly Buffer[], members: Readonly<Record<string, unknown>> = { patient }) => ({
  ...members,
  finding: { finding_type: 'lesion' },
  images: photos.map((bytes) => ({ capture_type: 'other', mime_type: 'image/jpeg', data: bytes.toString('base64') })),
})

async function create(t: TestApplication, payload: object, key?: string) {
  const headers = {
    ...(await t.token({ orgId: world.orgId, productId: randomUUID(), scopes: ['assessments:write'] })),
    ...(key === undefined ? {} : { 'idempotency-key': key }),
  }
  const {
    statusCode,
    body,
    headers: answered,
  } = await t.app.inject({ method: 'POST', url: '/v1/clinical-api/assessments', headers, payload })
  const record: unknown = JSON.parse(body)
  return {
    status: statusCode,
    record,
    code: at(record, 'code'),
    isReplayed: answered['idempotency-replayed'] === 'true',
  }
}

async function keys(): Promise<string[]> {
  const found: string[] = []
  for await (const { key } of world.deps.objects.list('')) found.push(key)
  return found.toSorted()
}

async function named(record: unknown): Promise<string[]> {
  const { state } = await world.otherStore.load(assessments.of(world.orgId, textAt(record, 'id')))
  if (state.status === 'absent') throw new Error('there is no such assessment')
  return state.images.map((image) => ('object' in image ? image.object.key : 'none')).toSorted()
}

it('stores what the event names, under the day of the request, and nothing else', async () => {
  const photos = [photo(large), photo(), photo(5_000_000)]
  const { status, record } = await create(await start(), bodyOf(photos))
  expect(status).toBe(202)
  const stored = await keys()
  expect(stored).toEqual(await named(record))
  expect(stored.every((key) => key.startsWith(`images/2026-03-01/${world.orgId}/${textAt(record, 'id')}/`))).toBe(true)
  const contents = await Promise.all(
    stored.map(async (key) => Buffer.from(await world.deps.objects.get(key)).toString('base64')),
  )
  expect(contents.toSorted()).toEqual(photos.map((bytes) => bytes.toString('base64')).toSorted())
})

it('requests the review at the instant of the submission before it answers, once', async () => {
  const t = await start()
  const [body, key] = [bodyOf([photo()]), randomUUID()]
  const { record } = await create(t, body, key)
  expect(await create(t, body, key)).toMatchObject({ status: 202, isReplayed: true })
  const { stream } = assessments.of(world.orgId, textAt(record, 'id'))
  const events: (readonly [string, unknown])[] = []
  for await (const { type, data } of world.otherStore.readStream(stream)) events.push([type, at(data, 'requestedAt')])
  const requestedAt = world.now().toISOString()
  expect(events).toEqual([
    ['AssessmentRequested', requestedAt],
    ['AssessmentSubmitted', undefined],
    ['AssessmentReviewRequested', requestedAt],
  ])
})

it('accepts an empty external_reference and returns it', async () => {
  const t = await start()
  const inline = await create(t, bodyOf([photo()], { patient, external_reference: '' }))
  expect([inline.status, at(inline.record, 'external_reference')]).toEqual([202, ''])
  const without = await create(t, bodyOf([photo()]))
  expect([without.status, at(without.record, 'external_reference')]).toEqual([202, undefined])
})

it('accepts a mime_type in any case, with data and without', async () => {
  const t = await start()
  const {
    images: [image],
    ...body
  } = bodyOf([photo()])
  expect((await create(t, { ...body, images: [{ ...image, mime_type: 'Image/JPEG' }] })).status).toBe(202)
  const slot = await create(t, { ...body, images: [{ capture_type: 'other', mime_type: 'IMAGE/png' }] })
  expect([slot.status, at(slot.record, 'status')]).toEqual([202, 'awaiting_images'])
  expect(await create(t, { ...body, images: [{ ...image, mime_type: 'Image/GIF' }] })).toMatchObject({
    status: 400,
    code: 'validation-failed',
  })
})

it('keeps only one set of objects when two processes accept the same request at once', async () => {
  const both = [await start(), await start(world.otherStore)]
  const body = bodyOf([photo(large), photo()])
  const answers = await Promise.all(both.map((t) => create(t, body, 'at-once')))
  expect(answers.map(({ status }) => status)).toEqual([202, 202])
  expect(answers.filter(({ isReplayed }) => isReplayed)).toHaveLength(1)
  expect(await keys()).toEqual(await named(answers[0]?.record))
})

it('removes its objects when another request has used the key meanwhile', async () => {
  const other = await start(world.otherStore)
  const known = { patient_id: textAt((await create(other, bodyOf([photo()]))).record, 'patient_id') }
  const before = await keys()
  let winner: unknown
  const late = await start(
    interrupted(world.store, 'assessment', async () => {
      winner = (await create(other, bodyOf([photo()], known), 'taken')).record
    }),
  )
  expect(await create(late, bodyOf([photo(large), photo()], known), 'taken')).toMatchObject({
    status: 409,
    code: 'idempotency-key-reused',
  })
  expect((await keys()).filter((key) => !before.includes(key))).toEqual(await named(winner))
})

it('keeps the images, but not their staged pieces, when the outcome of the append is unknown', async () => {
  const t = await start(
    watched(world.store, (stream) => {
      if (stream.startsWith('assessment-')) throw new AppendOutcomeUnknownError(stream, 1)
    }),
  )
  expect(await create(t, bodyOf([photo(large), photo()]))).toMatchObject({
    status: 503,
    code: 'event-store-unavailable',
  })
  expect((await keys()).map((key) => key.split('/')[0])).toEqual(['images', 'images'])
})

it('leaves no object behind when the object store fails between two images', async () => {
  let puts = 0
  const put: ObjectStore['put'] = async (key, ...rest) => {
    if (key.startsWith('images/') && ++puts === 2) throw problem('object-store-unavailable')
    return world.deps.objects.put(key, ...rest)
  }
  expect(await create(await start(world.store, { put }), bodyOf([photo(), photo(large), photo()]))).toMatchObject({
    status: 503,
    code: 'object-store-unavailable',
  })
  expect([puts, await keys()]).toEqual([2, []])
})

it('leaves no object behind when a request is refused after its images were staged', async () => {
  const t = await start()
  expect(await create(t, bodyOf([photo(large)], { patient_id: randomUUID() }))).toMatchObject({
    status: 404,
    code: 'patient-not-found',
  })
  expect(await create(t, bodyOf([photo(large)], {}))).toMatchObject({ status: 400, code: 'validation-failed' })
  expect(await create(t, { ...bodyOf([photo(large)]), unknown: 1 })).toMatchObject({
    status: 400,
    code: 'validation-failed',
  })
  expect(await keys()).toEqual([])
})

it('opens the case before it answers a repeat, if the first request ended without an answer', async () => {
  const broken = await start(
    watched(world.store, (stream) => {
      if (stream.startsWith('case-')) throw new EventStoreUnavailableError('away')
    }),
  )
  const body = bodyOf([photo()])
  expect(await create(broken, body, 'no-answer')).toMatchObject({ status: 503 })
  const again = await create(await start(world.otherStore), body, 'no-answer')
  expect(again).toMatchObject({ status: 202, isReplayed: true })
  const { state } = await world.store.load(cases.of(world.orgId, textAt(again.record, 'case_id')))
  expect(state).toMatchObject({ status: 'open', assessmentId: textAt(again.record, 'id') })
})

it('reads nothing from the event store before an assessment of declared images for a known patient', async () => {
  const known = textAt((await create(await start(), bodyOf([photo()]))).record, 'patient_id')
  const declared = {
    ...bodyOf([], { patient_id: known }),
    images: [{ capture_type: 'other', mime_type: 'image/jpeg' }],
  }
  const asked: string[] = []
  const t = await start(
    observed(world.store, (method) => {
      if (method !== 'presume') asked.push(method)
    }),
  )
  expect(await create(t, declared, 'declared')).toMatchObject({ status: 202, isReplayed: false })
  expect(asked[0]).toBe('append')
})

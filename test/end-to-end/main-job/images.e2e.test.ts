import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
  reviewOfCase,
} from '../../support/main-job.ts'
import { clientOf, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { declare as declareSlot, imageIdsOf, put, refusalOf } from './uploads.ts'

const unknownId = '0190b0a0-0000-7000-8000-000000000001'
const images = '/v1/clinical-api/images'
const jpeg = { capture_type: 'macroscopic', mime_type: 'image/jpeg' }

type Headers = Readonly<Record<string, string>>

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let stranger: ApiClient
let patientId: string
let caseId: string

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  stranger = watched.watch(await platform.connect(clientOf(platform.process, 1)))
  patientId = await registerPatient(api)
  caseId = await openCase(patientId)
})

afterAll(() => platform.stop())

async function openCase(patient: string): Promise<string> {
  return textAt(
    (await expecting(201, api.call('/v1/clinical-api/cases', { body: { patient_id: patient } }))).body,
    'id',
  )
}

const declare = (members: object, headers: Headers = {}, client = api) =>
  client.call(images, { body: { ...jpeg, ...members }, headers })
const read = (id: string, headers: Headers = {}) => api.call(`${images}/${id}`, { headers })
const submit = (id: string, headers: Headers = {}, client = api) =>
  client.call(`${images}/${id}/submit`, { method: 'POST', headers })
const sign = (id: string, client = api) => client.call(`${images}/${id}/upload-url`, { method: 'POST' })

async function listed(query: string, client = api): Promise<readonly unknown[]> {
  return Object.values(Object(at((await expecting(200, client.call(`${images}?${query}`))).body, 'data')) as object)
}

/** An image with uploaded bytes, before the submit. */
async function uploaded(members: object, bytes: Buffer): Promise<string> {
  const { body } = await expecting(201, declare(members))
  expect(await put(textAt(body, 'upload_url'), bytes)).toBe(200)
  return textAt(body, 'id')
}

async function shaOf(url: string): Promise<string> {
  const response = await fetch(url)
  return createHash('sha256')
    .update(Buffer.from(await response.arrayBuffer()))
    .digest('hex')
}

test('an image of a case is declared, uploaded without a token, submitted, listed and fetched', async () => {
  const photo = await photograph()
  const declared = await expecting(201, declare({ case_id: caseId, body_site_id: unknownId }))
  const id = textAt(declared.body, 'id')
  const {
    upload_url: uploadUrl,
    upload_url_expires_at: expiresAt,
    ...record
  } = Object(declared.body) as Record<string, unknown>
  expect([uploadUrl, expiresAt, declared.headers.get('location')]).toEqual([
    expect.stringMatching(/^http.*X-Amz-Expires=300&/),
    expect.any(String),
    `${images}/${id}`,
  ])
  expect(record).toEqual({
    id,
    case_id: caseId,
    patient_id: patientId,
    assessment_id: null,
    ...jpeg,
    body_site_id: unknownId,
    status: 'awaiting_upload',
    width: null,
    height: null,
    bytes: null,
    sha256: null,
    created_at: expect.any(String),
    updated_at: record['created_at'],
  })
  expect((await expecting(200, read(id))).body).toEqual(record)
  expect(await put(String(uploadUrl), photo.bytes, { 'content-type': 'image/png' })).toBe(403)
  expect(await put(String(uploadUrl), photo.bytes)).toBe(200)

  const submitted = await expecting(200, submit(id))
  const received = {
    ...record,
    status: 'received',
    width: expect.any(Number),
    height: expect.any(Number),
    bytes: photo.bytes.length,
    sha256: photo.sha256,
    updated_at: expect.any(String),
  }
  expect(submitted.body).toEqual({ ...received, download_url: expect.stringMatching(/X-Amz-Expires=604800&/) })
  const found = await expecting(200, read(id))
  expect(found.body).toEqual({ ...received, download_url: expect.any(String) })
  for (const { body } of [submitted, found]) expect(await shaOf(textAt(body, 'download_url'))).toBe(photo.sha256)
  expect((await read(id, { 'if-none-match': found.headers.get('etag') ?? '' })).status).toBe(304)
  expect(await listed(`case_id=${caseId}`)).toEqual([received])

  // A later PUT to the address has no effect.
  expect(await put(String(uploadUrl), (await photograph()).bytes)).toBe(200)
  expect(await shaOf(textAt((await read(id)).body, 'download_url'))).toBe(photo.sha256)
})

test('images are listed newest first by case, patient and assessment, including images of assessments, and may be analysed', async () => {
  const terms = await createConsentTerms(api, platform.process.credentials.org_id)
  const patient = await consentedPatient(api, terms)
  const photo = await photograph()
  const assessmentId = await requestAssessment(
    api,
    assessmentBody(patient, [photo, await photograph('other', 'lesion-3.png')]),
  )
  const ended = await endOf(api, assessmentId)
  const of = textAt(ended, 'case_id')
  const [first = '', second = ''] = imageIdsOf(ended)
  const common = { case_id: of, patient_id: patient, assessment_id: assessmentId, status: 'processed' }
  const found = await expecting(200, read(first))
  expect(found.body).toMatchObject({
    ...common,
    id: first,
    capture_type: 'dermoscopic',
    mime_type: 'image/jpeg',
    bytes: photo.bytes.length,
    sha256: photo.sha256,
  })
  expect(await shaOf(textAt(found.body, 'download_url'))).toBe(photo.sha256)
  const own = textAt((await expecting(201, declare({ case_id: of, patient_id: patient.toUpperCase() }))).body, 'id')
  const without = textAt((await expecting(201, declare({ patient_id: patient }))).body, 'id')
  const idsOf = async (query: string) => (await listed(query)).map((image) => textAt(image, 'id'))
  expect(await idsOf(`case_id=${of}`)).toEqual([own, second, first])
  expect(await idsOf(`patient_id=${patient}`)).toEqual([without, own, second, first])
  expect(await idsOf(`assessment_id=${assessmentId.toUpperCase()}`)).toEqual([second, first])
  expect(await idsOf(`assessment_id=${assessmentId}&case_id=${unknownId}`)).toEqual([])
  expect(await listed(`assessment_id=${assessmentId}`)).toEqual([
    expect.objectContaining(common),
    expect.objectContaining(common),
  ])
  expect(JSON.stringify(await listed(`patient_id=${patient}`))).not.toMatch(/_url/)

  // The case is analysed again, with an added photograph.
  const better = await photograph()
  const added = await uploaded({ case_id: of }, better.bytes)
  const { body: image } = await expecting(200, submit(added))
  const presignedUrlExpiresAt = new Date(Date.now() + 60_000).toISOString()
  const fresh = {
    imageId: added,
    imageType: 'MACROSCOPIC',
    presignedUrl: textAt(image, 'download_url'),
    presignedUrlExpiresAt,
  }
  const review = await reviewOfCase(api, of)
  const made = await expecting(
    202,
    api.call(`/v1/ai-reviews/${textAt(review, 'id')}/supersede`, {
      body: { images: [fresh] },
      headers: { prefer: 'wait=25' },
    }),
  )
  const successor = await expecting(
    200,
    api.call(`/v1/ai-reviews/${textAt(made.body, 'aiReviewId')}`, { headers: { prefer: 'wait=25' } }),
  )
  expect([at(successor.body, 'status'), at(successor.body, 'images', 0, 'clinicalImageId')]).toEqual([
    'completed',
    added,
  ])
  const sent = (await platform.provider.calls()).filter(
    ({ call, sha256 }) => call === 'image' && sha256 === better.sha256,
  )
  expect(sent).toHaveLength(1)
})

test('the images of an assessment are found after its answer, awaited or received', async () => {
  const photo = await photograph()
  const slot = await declareSlot(api, patientId, [photo])
  const [awaited = ''] = imageIdsOf(slot.body)
  expect((await expecting(200, read(awaited))).body).toMatchObject({
    assessment_id: textAt(slot.body, 'id'),
    case_id: null,
    status: 'awaiting_upload',
    sha256: null,
  })
  // An image of an assessment is uploaded and submitted with the assessment.
  expect([refusalOf(await submit(awaited)), refusalOf(await sign(awaited))]).toEqual([
    [404, 'not-found', undefined],
    [404, 'not-found', undefined],
  ])
  const inline = await expecting(
    202,
    api.call('/v1/clinical-api/assessments', { body: assessmentBody(patientId, [photo]) }),
  )
  const [sent = ''] = imageIdsOf(inline.body)
  expect((await expecting(200, read(sent))).body).toMatchObject({
    status: 'received',
    sha256: photo.sha256,
    download_url: expect.any(String),
  })
})

test('a declaration must name a case or a patient of the organisation, and both only if they match', async () => {
  const other = await registerPatient(api)
  const theirs = await registerPatient(stranger)
  const theirCase = textAt(
    (await expecting(201, stranger.call('/v1/clinical-api/cases', { body: { patient_id: theirs } }))).body,
    'id',
  )
  const refused: readonly (readonly [object, readonly unknown[]])[] = [
    [{}, [400, 'validation-failed', '/patient_id']],
    [{ case_id: caseId, patient_id: other }, [400, 'validation-failed', '/patient_id']],
    [{ case_id: unknownId }, [404, 'case-not-found', '/case_id']],
    [{ case_id: theirCase }, [404, 'case-not-found', '/case_id']],
    [{ patient_id: unknownId }, [404, 'patient-not-found', '/patient_id']],
    [{ patient_id: theirs }, [404, 'patient-not-found', '/patient_id']],
    [{ case_id: 'case' }, [400, 'validation-failed', '/case_id']],
    [{ patient_id: patientId, mime_type: 'image/gif' }, [400, 'validation-failed', '/mime_type']],
    [{ patient_id: patientId, capture_type: 'drawing' }, [400, 'validation-failed', '/capture_type']],
    [{ patient_id: patientId, body_site_id: 'arm' }, [400, 'validation-failed', '/body_site_id']],
    [{ patient_id: patientId, data: 'AAAA' }, [400, 'validation-failed', '/data']],
  ]
  for (const [members, refusal] of refused)
    expect([members, refusalOf(await declare(members))]).toEqual([members, refusal])
  expect(await listed(`patient_id=${other}`)).toEqual([])
})

test('twenty declarations at once with one key are one, and repeats get new signatures while the upload is awaited', async () => {
  const headers = { 'idempotency-key': 'declared-image' }
  const patient = await registerPatient(api)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => expecting(201, declare({ patient_id: patient }, headers))),
  )
  const [id = '', ...others] = new Set(answers.map(({ body }) => textAt(body, 'id')))
  expect(others).toEqual([])
  expect(answers.filter((answer) => answer.headers.get('idempotency-replayed') === 'true')).toHaveLength(19)
  expect(await listed(`patient_id=${patient}`)).toHaveLength(1)
  expect(refusalOf(await declare({ patient_id: patient, capture_type: 'other' }, headers))).toEqual([
    409,
    'idempotency-key-reused',
    undefined,
  ])
  const again = await expecting(201, declare({ patient_id: patient }, headers))
  expect(await put(textAt(again.body, 'upload_url'), (await photograph()).bytes)).toBe(200)
  await expecting(200, submit(id))
  const after = await expecting(201, declare({ patient_id: patient }, headers))
  expect([at(after.body, 'id'), at(after.body, 'status'), at(after.body, 'upload_url')]).toEqual([
    id,
    'received',
    undefined,
  ])
})

test('twenty submits at once with one key are one, and later repeats get an equal answer', async () => {
  const photo = await photograph()
  const id = await uploaded({ patient_id: patientId }, photo.bytes)
  const headers = { 'idempotency-key': 'submitted-image' }
  const answers = await Promise.all(Array.from({ length: 20 }, () => expecting(200, submit(id, headers))))
  expect(answers.filter((answer) => answer.headers.get('idempotency-replayed') === 'true')).toHaveLength(19)
  const placeOf = ({ body }: ApiAnswer) => textAt(body, 'download_url').split('?', 1)[0]
  expect(new Set(answers.map(placeOf)).size).toBe(1)
  const later = await expecting(200, submit(id))
  expect([placeOf(later), later.headers.get('idempotency-replayed')]).toEqual([placeOf(await read(id)), null])
  expect((await expecting(200, read(id))).headers.get('etag')).toMatch(/^"1\./)
})

test.each([
  { what: 'without an upload', bytes: undefined, refused: [409, 'uploads-incomplete', undefined] },
  { what: 'of another type than declared', bytes: Buffer.from('GIF89a'), refused: [400, 'image-invalid', ''] },
  { what: 'of no bytes', bytes: Buffer.alloc(0), refused: [400, 'image-invalid', ''] },
])('a submit $what is refused, changes nothing, and may be made again', async ({ bytes, refused }) => {
  const { body } = await expecting(201, declare({ patient_id: patientId }))
  const id = textAt(body, 'id')
  if (bytes !== undefined) expect(await put(textAt(body, 'upload_url'), bytes)).toBe(200)
  const before = await read(id)
  const headers = { 'idempotency-key': `bad-${id}` }
  for (const _ of [1, 2]) expect(refusalOf(await submit(id, headers))).toEqual(refused)
  const after = await read(id)
  expect([after.body, after.headers.get('etag')]).toEqual([before.body, before.headers.get('etag')])
  const fresh = await expecting(200, sign(id))
  expect(fresh.body).toEqual({
    image_id: id,
    upload_url: expect.stringContaining(textAt(body, 'upload_url').split('?', 1)[0] ?? ''),
    upload_url_expires_at: expect.any(String),
  })
  expect(await put(textAt(fresh.body, 'upload_url'), (await photograph()).bytes)).toBe(200)
  expect(at((await expecting(200, submit(id, headers))).body, 'status')).toBe('received')
  expect(refusalOf(await sign(id))).toEqual([409, 'image-not-awaiting-upload', undefined])
})

test('an upload with a declared length accepts no other length', async () => {
  const { bytes } = await photograph()
  const { body } = await expecting(201, declare({ patient_id: patientId, size_bytes: bytes.length }))
  expect(await put(textAt(body, 'upload_url'), bytes.subarray(1))).toBe(403)
  expect(await put(textAt(body, 'upload_url'), bytes)).toBe(200)
  expect(at((await expecting(200, submit(textAt(body, 'id')))).body, 'status')).toBe('received')
  expect(refusalOf(await declare({ patient_id: patientId, size_bytes: 20 * 1024 * 1024 + 1 }))).toEqual([
    400,
    'validation-failed',
    '/size_bytes',
  ])
})

test('a submit is refused for another version in If-Match, and accepts no body', async () => {
  const id = await uploaded({ patient_id: patientId }, (await photograph()).bytes)
  expect(refusalOf(await submit(id, { 'if-match': '"7"' }))).toEqual([412, 'precondition-failed', undefined])
  expect(refusalOf(await api.call(`${images}/${id}/submit`, { body: { sha256: 'a' } }))).toEqual([
    400,
    'validation-failed',
    '/sha256',
  ])
  expect(refusalOf(await api.call(`${images}/${id}/upload-url`, { body: { sha256: 'a' } }))).toEqual([
    400,
    'validation-failed',
    '/sha256',
  ])
  expect(refusalOf(await submit(id, { 'idempotency-key': 'with space' }))).toEqual([
    400,
    'idempotency-key-invalid',
    undefined,
  ])
  const etag = (await read(id)).headers.get('etag') ?? ''
  await expecting(200, submit(id, { 'if-match': etag }))
  await expecting(200, submit(id, { 'if-match': etag }))
})

test('another organisation finds no image', async () => {
  const id = await uploaded({ case_id: caseId }, (await photograph()).bytes)
  const strange = [
    await submit(id, {}, stranger),
    await sign(id, stranger),
    await stranger.call(`${images}/${id}`),
    await submit(unknownId),
    await read(unknownId),
  ]
  expect(strange.map(refusalOf)).toEqual(strange.map(() => [404, 'not-found', undefined]))
  for (const query of ['', `case_id=${caseId}`, `patient_id=${patientId}`])
    expect(await listed(query, stranger)).toEqual([])
})

test('every answer is documented', async () => {
  const seen = [
    'declareImage 201',
    'declareImage 400',
    'declareImage 404',
    'declareImage 409',
    'getImage 200',
    'getImage 304',
    'listImages 200',
    'submitImage 412',
    'signImageUploadUrl 409',
  ]
  expect(await watched.seen()).toEqual(expect.arrayContaining(seen))
  expect(await watched.undocumented()).toEqual([])
})

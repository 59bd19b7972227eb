import { createHash } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
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
  subscribeToEnds,
  webhookAbout,
  webhooksAbout,
  withoutSignatures,
  type Photograph,
} from '../../support/main-job.ts'
import { clientOf, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import {
  assessments,
  declaration,
  declare,
  imageIdsOf,
  put,
  refusalOf,
  submit,
  uploadAll,
  uploadUrlOf,
} from './uploads.ts'

const unknownId = '0190b0a0-0000-7000-8000-000000000001'

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let stranger: ApiClient
let consented: string
/** Assessments with many submits at once. */
const atOnce: string[] = []
let receiver: WebhookReceiver
let secret: string

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  stranger = watched.watch(await platform.connect(clientOf(platform.process, 1)))
  consented = await consentedPatient(api, await createConsentTerms(api, platform.process.credentials.org_id))
  receiver = await startWebhookReceiver()
  secret = await subscribeToEnds(api, receiver)
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

const read = (id: string): Promise<ApiAnswer> => expecting(200, api.call(`${assessments}/${id}`))

async function shaOf(url: string): Promise<string> {
  const response = await fetch(url)
  return createHash('sha256')
    .update(Buffer.from(await response.arrayBuffer()))
    .digest('hex')
}

/** Hashes of the images that the provider got for the photographs of one assessment. */
async function sentToProvider(...hashes: readonly string[]): Promise<readonly string[]> {
  const calls = await platform.provider.calls()
  return calls.flatMap(({ call, sha256 }) =>
    call === 'image' && sha256 !== undefined && hashes.includes(sha256) ? [sha256] : [],
  )
}

test('declared images are uploaded without a token, submitted, and assessed like those of a body', async () => {
  const photographs = [
    await photograph('dermoscopic'),
    await photograph('macroscopic', 'lesion-3.png'),
    await photograph('other', 'lesion-2.jpg'),
  ]
  const declared = declaration(consented, photographs)
  // A media type in another case, and an empty reference.
  const images = declared.images.map((image, place) => (place === 0 ? { ...image, mime_type: 'IMAGE/JPEG' } : image))
  const body = { ...declared, images, external_reference: '' }
  const created = await expecting(202, api.call(assessments, { body }))
  const id = textAt(created.body, 'id')
  const awaited = {
    id: expect.any(String),
    status: 'awaiting_upload',
    upload_url: expect.stringMatching(/^http.*X-Amz-Expires=300&/),
  }
  expect(created.body).toEqual({
    id,
    status: 'awaiting_images',
    patient_id: expect.any(String),
    case_id: null,
    external_reference: '',
    result: null,
    error: null,
    images: ['dermoscopic', 'macroscopic', 'other'].map((capture_type) => ({ ...awaited, capture_type })),
  })
  expect([created.headers.get('retry-after'), created.headers.get('location')]).toEqual([null, `${assessments}/${id}`])
  const before = await read(id)
  expect(JSON.stringify(before.body)).not.toContain('upload_url')
  expect(at(before.body, 'status')).toBe('awaiting_images')
  expect(before.headers.get('retry-after')).toBeNull()

  const bytes = photographs[0]?.bytes ?? Buffer.alloc(0)
  expect(await put(uploadUrlOf(created.body, 0), bytes, { 'content-type': 'IMAGE/JPEG' })).toBe(200)
  for (const place of [1, 2]) {
    const { entry, bytes: sent } = photographs[place] ?? (await photograph())
    expect(await put(uploadUrlOf(created.body, place), sent, { 'content-type': entry.mime_type })).toBe(200)
  }
  const submitted = await expecting(200, submit(api, id))
  expect(submitted.body).toEqual({
    ...Object(before.body),
    status: 'processing',
    case_id: expect.any(String),
    next_poll_after_ms: 5000,
    images: imageIdsOf(before.body).map((image, place) => ({
      id: image,
      status: 'received',
      capture_type: at(before.body, 'images', place, 'capture_type'),
    })),
  })
  expect(
    (await expecting(200, api.call(`/v1/clinical-api/cases/${textAt(submitted.body, 'case_id')}`))).body,
  ).toMatchObject({ status: 'open' })

  const ended = await endOf(api, id)
  expect(ended).toMatchObject({
    status: 'completed',
    external_reference: '',
    images: photographs.map(() => ({ status: 'processed' })),
    case_id: at(submitted.body, 'case_id'),
  })
  const hashes = photographs.map(({ sha256 }) => sha256)
  expect(await sentToProvider(...hashes)).toEqual(hashes)
  expect(await Promise.all(hashes.map((_, place) => shaOf(textAt(ended, 'images', place, 'download_url'))))).toEqual(
    hashes,
  )
  const webhook = await webhookAbout(receiver, id)
  expect(withoutSignatures(new Webhook(secret).verify(webhook.body, { ...webhook.headers }))).toEqual(
    withoutSignatures(ended),
  )
  expect(JSON.stringify(ended)).not.toContain('upload_url')
})

test('an upload address accepts only the declared type', async () => {
  const photo = await photograph()
  const { body } = await declare(api, await registerPatient(api), [photo])
  const url = uploadUrlOf(body, 0)
  expect(await put(url, photo.bytes, { 'content-type': 'image/png' })).toBe(403)
  expect(await put(url, photo.bytes, {})).toBe(403)
  expect(await put(url, photo.bytes, { 'content-type': 'image/jpeg', authorization: 'Bearer token' })).toBe(400)
  expect((await fetch(url)).status).toBe(403)
  expect(refusalOf(await submit(api, textAt(body, 'id')))).toEqual([409, 'uploads-incomplete', undefined])
  expect(await put(url, photo.bytes)).toBe(200)
  await expecting(200, submit(api, textAt(body, 'id')))
})

test('an upload with a declared length accepts no other length, also at a new address', async () => {
  const photo = await photograph()
  const image = { capture_type: 'other', mime_type: 'image/jpeg', size_bytes: photo.bytes.length }
  const sized = { ...declaration(await registerPatient(api), []), images: [image] }
  const { body } = await expecting(202, api.call(assessments, { body: sized }))
  const fresh = await expecting(
    200,
    api.call(`${assessments}/${textAt(body, 'id')}/images/${imageIdsOf(body)[0]}/upload-url`, { method: 'POST' }),
  )
  for (const url of [uploadUrlOf(body, 0), textAt(fresh.body, 'upload_url')]) {
    expect(await put(url, Buffer.concat([photo.bytes, Buffer.alloc(1)]))).toBe(403)
    expect(await put(url, photo.bytes.subarray(1))).toBe(403)
    expect(await put(url, photo.bytes)).toBe(200)
  }
  await expecting(200, submit(api, textAt(body, 'id')))
  const inline = { ...sized, images: [{ ...image, data: photo.bytes.toString('base64') }] }
  expect(refusalOf(await api.call(assessments, { body: inline }))).toEqual([
    400,
    'validation-failed',
    '/images/0/size_bytes',
  ])
})

test('a submit before the uploads names exactly the missing ones, and its key stays free', async () => {
  const photographs = [await photograph(), await photograph(), await photograph()]
  const { body } = await declare(api, await registerPatient(api), photographs)
  const [id, images] = [textAt(body, 'id'), imageIdsOf(body)]
  const headers = { 'idempotency-key': 'submit-early' }
  const missing = async () => at((await expecting(409, submit(api, id, headers))).body, 'missing_image_ids')
  expect(await missing()).toEqual(images)
  for (const place of [2, 0]) await put(uploadUrlOf(body, place), photographs[place]?.bytes ?? Buffer.alloc(0))
  expect(await missing()).toEqual([images[1]])
  expect(at((await read(id)).body, 'status')).toBe('awaiting_images')
  await put(uploadUrlOf(body, 1), photographs[1]?.bytes ?? Buffer.alloc(0))
  const submitted = await expecting(200, submit(api, id, headers))
  expect([at(submitted.body, 'status'), submitted.headers.get('idempotency-replayed')]).toEqual(['processing', null])
})

/** A PNG header alone, of 100 000 by 100 000 pixels. */
function pixelBomb(): Buffer {
  const header = Buffer.alloc(33)
  header.write('\x89PNG\r\n\x1a\n', 'latin1')
  header.writeUInt32BE(13, 8)
  header.write('IHDR', 12, 'latin1')
  header.writeUInt32BE(100_000, 16)
  header.writeUInt32BE(100_000, 20)
  return header
}

const MiB = 1024 * 1024
const badUploads: readonly {
  readonly what: string
  readonly make: (good: Buffer) => Buffer
  readonly refused: readonly unknown[]
  readonly again?: (good: Buffer) => Buffer
}[] = [
  {
    what: 'of another type than declared',
    make: (good: Buffer) => Buffer.concat([Buffer.from('GIF89a'), good]),
    refused: [400, 'image-invalid', '/images/1'],
  },
  { what: 'of no bytes', make: () => Buffer.alloc(0), refused: [400, 'image-invalid', '/images/1'] },
  { what: 'of too many pixels', make: () => pixelBomb(), refused: [400, 'image-too-large', '/images/1'] },
  {
    what: 'of more than 20 MiB',
    make: (good: Buffer) => Buffer.concat([good, Buffer.alloc(20 * MiB + 1 - good.length)]),
    refused: [400, 'image-too-large', '/images/1'],
    // Of exactly 20 MiB.
    again: (good: Buffer) => Buffer.concat([good, Buffer.alloc(20 * MiB - good.length)]),
  },
]

test.each(badUploads)(
  'an upload $what is refused with its place, changes nothing, and may be made again',
  async ({ make, refused, again = (good) => good }) => {
    const photographs = [await photograph(), await photograph('dermoscopic', 'lesion-3.png')]
    const { body } = await declare(api, await registerPatient(api), photographs)
    const id = textAt(body, 'id')
    await uploadAll(body, photographs)
    const type = { 'content-type': 'image/png' }
    expect(await put(uploadUrlOf(body, 1), make(photographs[1]?.bytes ?? Buffer.alloc(0)), type)).toBe(200)
    const before = await read(id)
    for (const _ of [1, 2])
      expect(refusalOf(await submit(api, id, { 'idempotency-key': `bad-${id}` }))).toEqual(refused)
    const after = await read(id)
    expect([after.body, after.headers.get('etag')]).toEqual([before.body, before.headers.get('etag')])
    expect(await put(uploadUrlOf(body, 1), again(photographs[1]?.bytes ?? Buffer.alloc(0)), type)).toBe(200)
    expect(at((await expecting(200, submit(api, id, { 'idempotency-key': `bad-${id}` }))).body, 'status')).toBe(
      'processing',
    )
  },
)

test('a submit of a failed assessment is refused, except with the key that submitted it', async () => {
  const photo = await photograph()
  const { body } = await declare(api, await registerPatient(api), [photo])
  const id = textAt(body, 'id')
  await uploadAll(body, [photo])
  await expecting(200, submit(api, id, { 'idempotency-key': 'doomed' }))
  expect(at(await endOf(api, id), 'error', 'code')).toBe('CONSENT_MISSING')
  expect(refusalOf(await submit(api, id))).toEqual([409, 'assessment-not-awaiting-images', undefined])
  const replayed = await expecting(200, submit(api, id, { 'idempotency-key': 'doomed' }))
  expect([
    at(replayed.body, 'status'),
    at(replayed.body, 'images', 0, 'status'),
    replayed.headers.get('idempotency-replayed'),
  ]).toEqual(['failed', 'received', 'true'])
})

test('a repeated create returns newly signed addresses while images are awaited, and none after', async () => {
  const [photo, patientId, headers] = [
    await photograph(),
    await registerPatient(api),
    { 'idempotency-key': 'declared' },
  ]
  const first = await declare(api, patientId, [photo], headers)
  const again = await declare(api, patientId, [photo], headers)
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect(imageIdsOf(again.body)).toEqual(imageIdsOf(first.body))
  const place = (record: unknown) => uploadUrlOf(record, 0).split('?', 1)[0]
  expect(place(again.body)).toBe(place(first.body))
  expect(refusalOf(await api.call(assessments, { body: declaration(patientId, [photo, photo]), headers }))).toEqual([
    409,
    'idempotency-key-reused',
    undefined,
  ])
  expect(refusalOf(await api.call(assessments, { body: assessmentBody(patientId, [photo]), headers }))).toEqual([
    409,
    'idempotency-key-reused',
    undefined,
  ])
  await uploadAll(again.body, [photo])
  await expecting(200, submit(api, textAt(first.body, 'id')))
  const after = await declare(api, patientId, [photo], headers)
  expect([at(after.body, 'id'), at(after.body, 'images', 0, 'upload_url')]).toEqual([at(first.body, 'id'), undefined])
})

test('a new address for each awaited image is given on request, to its organisation only', async () => {
  const photographs = [await photograph(), await photograph('other', 'lesion-3.png')]
  const { body } = await declare(api, await registerPatient(api), photographs)
  const [id, [first = '', second = '']] = [textAt(body, 'id'), imageIdsOf(body)]
  const ask = (client: ApiClient, assessment: string, image: string) =>
    client.call(`${assessments}/${assessment}/images/${image}/upload-url`, { method: 'POST' })
  for (const [place, image] of [first, second].entries()) {
    const asked = Date.now()
    const fresh = await expecting(200, ask(api, id, image))
    expect(fresh.body).toEqual({
      image_id: image,
      upload_url: expect.stringContaining(uploadUrlOf(body, place).split('?', 1)[0] ?? ''),
      upload_url_expires_at: expect.any(String),
    })
    expect(Date.parse(textAt(fresh.body, 'upload_url_expires_at'))).toBeGreaterThanOrEqual(asked + 299_000)
    expect(
      await put(textAt(fresh.body, 'upload_url'), photographs[place]?.bytes ?? Buffer.alloc(0), {
        'content-type': photographs[place]?.entry.mime_type ?? '',
      }),
    ).toBe(200)
  }
  const strange = [
    await ask(api, id, unknownId),
    await ask(api, unknownId, first),
    await ask(stranger, id, first),
    await ask(api, id, 'image'),
  ]
  expect(strange.map(refusalOf)).toEqual(strange.map(() => [404, 'not-found', undefined]))
  expect(refusalOf(await submit(stranger, id))).toEqual([404, 'not-found', undefined])
  await expecting(200, submit(api, id))
  expect(refusalOf(await ask(api, id, first))).toEqual([409, 'assessment-not-awaiting-images', undefined])
  expect(refusalOf(await ask(api, id, unknownId))).toEqual([404, 'not-found', undefined])
})

/** Twenty submits at once of a new assessment, whose analysis is under way when they return. */
async function submittedAtOnce(photo: Photograph, keyOf: (place: number) => string) {
  await platform.provider.fault({ call: 'case', delay_ms: 700 })
  const { body } = await declare(api, consented, [photo])
  await uploadAll(body, [photo])
  const id = textAt(body, 'id')
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, place) => expecting(200, submit(api, id, { 'idempotency-key': keyOf(place) }))),
  )
  const caseIds = new Set(answers.map((answer) => textAt(answer.body, 'case_id')))
  expect(caseIds.size).toBe(1)
  atOnce.push(id)
  return { id, url: uploadUrlOf(body, 0), answers, caseIds }
}

/** The completed record, which has one review. */
async function endOfOne(id: string): Promise<unknown> {
  const ended = await endOf(api, id)
  const reviews = await expecting(200, api.call(`/v1/ai-reviews?caseId=${textAt(ended, 'case_id')}`))
  expect([at(ended, 'status'), at(reviews.body, 'data', 'length')]).toEqual(['completed', 1])
  return ended
}

const replayedOf = (answers: readonly ApiAnswer[]) => answers.map(({ headers }) => headers.get('idempotency-replayed'))

test('twenty submits at once with one key are one, as are later ones; a PUT after them has no effect', async () => {
  const [photo, late] = [await photograph(), await photograph()]
  const { id, url, answers, caseIds } = await submittedAtOnce(photo, () => 'once')
  expect(replayedOf(answers).filter((replayed) => replayed === 'true')).toHaveLength(19)
  expect(await put(url, late.bytes)).toBe(200)
  const again = [
    await expecting(200, submit(api, id, { 'idempotency-key': '"once"' })),
    await expecting(200, submit(api, id)),
    await expecting(200, submit(api, id, { 'idempotency-key': 'twice' })),
  ]
  expect(new Set(again.map((answer) => textAt(answer.body, 'case_id')))).toEqual(caseIds)
  expect(replayedOf(again)).toEqual(['true', null, null])

  const ended = await endOfOne(id)
  expect(await sentToProvider(photo.sha256, late.sha256)).toEqual([photo.sha256])
  expect(await shaOf(textAt(ended, 'images', 0, 'download_url'))).toBe(photo.sha256)
  const last = await expecting(200, submit(api, id, { 'idempotency-key': 'once' }))
  expect([withoutSignatures(last.body), ...replayedOf([last])]).toEqual([withoutSignatures(ended), 'true'])
})

test('twenty submits at once with a key each are one', async () => {
  const photo = await photograph()
  const { id, answers } = await submittedAtOnce(photo, (place) => `each-${place}`)
  expect(replayedOf(answers)).toEqual(answers.map(() => null))
  await endOfOne(id)
  expect(await sentToProvider(photo.sha256)).toEqual([photo.sha256])
})

test('a submit is refused for another version in If-Match, a repeat is not', async () => {
  const photo = await photograph()
  const { body } = await declare(api, await registerPatient(api), [photo])
  const id = textAt(body, 'id')
  await uploadAll(body, [photo])
  expect(refusalOf(await submit(api, id, { 'if-match': '"7"' }))).toEqual([412, 'precondition-failed', undefined])
  const etag = (await read(id)).headers.get('etag') ?? ''
  await expecting(200, submit(api, id, { 'if-match': etag }))
  expect(at((await expecting(200, submit(api, id, { 'if-match': etag }))).body, 'id')).toBe(id)
})

test('a submit accepts no body, and either all images are declared or all are sent', async () => {
  const photo = await photograph()
  const patientId = await registerPatient(api)
  const { body } = await declare(api, patientId, [photo])
  const id = textAt(body, 'id')
  await uploadAll(body, [photo])
  expect(refusalOf(await api.call(`${assessments}/${id}/submit`, { body: { images: [] } }))).toEqual([
    400,
    'validation-failed',
    '/images',
  ])
  expect(refusalOf(await api.call(`${assessments}/${id}/submit`, { body: [] }))).toEqual([400, 'validation-failed', ''])
  expect(refusalOf(await submit(api, id, { 'idempotency-key': 'with space' }))).toEqual([
    400,
    'idempotency-key-invalid',
    undefined,
  ])
  const headers = { 'idempotency-key': 'no-body' }
  await expecting(200, api.call(`${assessments}/${id}/submit`, { body: {}, headers }))
  expect((await expecting(200, submit(api, id, headers))).headers.get('idempotency-replayed')).toBe('true')
  const mixed = {
    ...declaration(patientId, [photo]),
    images: [photo.entry, { capture_type: 'other', mime_type: 'image/png' }],
  }
  expect(refusalOf(await api.call(assessments, { body: mixed }))).toEqual([400, 'mixed-image-mode', '/images/1/data'])
  const gif = { ...declaration(patientId, [photo]), images: [{ capture_type: 'other', mime_type: 'image/gif' }] }
  expect(refusalOf(await api.call(assessments, { body: gif }))).toEqual([
    400,
    'validation-failed',
    '/images/0/mime_type',
  ])
})

test('a submit of an inline assessment returns it unchanged', async () => {
  const id = await requestAssessment(api, assessmentBody(consented, [await photograph()]))
  const { body } = await expecting(200, submit(api, id))
  expect(['processing', 'completed']).toContain(at(body, 'status'))
  expect(refusalOf(await submit(api, unknownId))).toEqual([404, 'not-found', undefined])
})

test('a submit repeated at once makes one webhook', async () => {
  expect(atOnce).toHaveLength(2)
  for (const id of atOnce) await webhookAbout(receiver, id)
  // A whole run of a later assessment gives enough time for a wrong second webhook.
  const body = assessmentBody(await registerPatient(api), [await photograph()])
  await webhookAbout(receiver, await requestAssessment(api, body))
  for (const id of atOnce) expect(webhooksAbout(receiver, id)).toHaveLength(1)
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toEqual(
    expect.arrayContaining([
      'signUploadUrl 200',
      'signUploadUrl 404',
      'signUploadUrl 409',
      'submitAssessment 200',
      'submitAssessment 400',
      'submitAssessment 404',
      'submitAssessment 409',
      'submitAssessment 412',
    ]),
  )
  expect(await watched.undocumented()).toEqual([])
})

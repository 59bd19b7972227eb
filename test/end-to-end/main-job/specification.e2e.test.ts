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
  type ConsentTerms,
  type Photograph,
} from '../../support/main-job.ts'
import { clientOf, waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { eventsOf } from '../bad-days/recorded-events.ts'
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

/* Section by section, in the words of the interface specification. Other files test the edge cases. */

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let stranger: ApiClient
let terms: ConsentTerms
let receiver: WebhookReceiver
/** Requested inline for a consenting patient: the first answer, and the final record. */
let inline: { readonly answer: ApiAnswer; readonly end: unknown }
/** The same in slot mode, with the answer of the submit. */
let slot: {
  readonly answer: ApiAnswer
  /** A GET before the uploads, and one after the submit. */
  readonly awaited: ApiAnswer
  readonly submitted: ApiAnswer
  readonly polled: ApiAnswer
  readonly end: unknown
}
/** Declared, for the rules of uploads in their order. */
let uploads: { readonly photographs: readonly Photograph[]; readonly body: unknown }
/** The final record for a patient without consent. */
let failed: unknown

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  stranger = watched.watch(await platform.connect(clientOf(platform.process, 1)))
  terms = await createConsentTerms(api, platform.process.credentials.org_id)
  receiver = await startWebhookReceiver()
  await subscribeToEnds(api, receiver)
  const photographs = [await photograph(), await photograph('macroscopic', 'lesion-3.png')]
  const patientId = await consentedPatient(api, terms)
  const answer = await expecting(202, api.call(assessments, { body: assessmentBody(patientId, photographs) }))
  inline = { answer, end: await endOf(api, textAt(answer.body, 'id')) }
  const declared = await declare(api, patientId, photographs)
  const id = idOf(declared.body)
  const awaited = await read(id)
  await uploadAll(declared.body, photographs)
  // Long enough for a GET before the end.
  await platform.provider.fault({ call: 'case', delay_ms: 2_000 })
  const submitted = await expecting(200, submit(api, id))
  slot = { answer: declared, awaited, submitted, polled: await read(id), end: await endOf(api, id) }
  const declaredOnly = [await photograph(), await photograph()]
  const { body: declaredRecord } = await declare(api, await registerPatient(api), declaredOnly)
  uploads = { photographs: declaredOnly, body: declaredRecord }
  failed = await endOf(
    api,
    await requestAssessment(api, assessmentBody(await registerPatient(api), [await photograph()])),
  )
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

const read = (id: string): Promise<ApiAnswer> => expecting(200, api.call(`${assessments}/${id}`))
const idOf = (record: unknown): string => textAt(record, 'id')
const imagesOf = (record: unknown): unknown[] =>
  imageIdsOf(record).map((_, place) => at(record, 'images', place, 'status'))

async function eventsAbout(channel: string, member: string, id: string) {
  const events = await eventsOf(platform.process.credentials.eventstore_url ?? '', channel)
  return events.filter(({ data }) => at(data, member) === id)
}

test('3.1 row 1: POST inline -> processing', async () => {
  const { status, body } = inline.answer
  expect([status, at(body, 'status'), imagesOf(body)]).toEqual([202, 'processing', ['received', 'received']])
  const caseId = textAt(body, 'case_id')
  expect((await expecting(200, api.call(`/v1/clinical-api/cases/${caseId}`))).body).toMatchObject({
    id: caseId,
    patient_id: at(body, 'patient_id'),
  })
})

test('3.1 row 2: POST slot -> awaiting_images', () => {
  const { status, body } = slot.answer
  expect([status, at(body, 'status'), at(body, 'case_id'), imagesOf(body)]).toEqual([
    202,
    'awaiting_images',
    null,
    ['awaiting_upload', 'awaiting_upload'],
  ])
  expect(new Set([uploadUrlOf(body, 0), uploadUrlOf(body, 1)]).size).toBe(2)
})

test('3.1 row 3: POST submit -> processing', async () => {
  const { status, body } = slot.submitted
  expect([status, at(body, 'status'), imagesOf(body)]).toEqual([200, 'processing', ['received', 'received']])
  await expecting(200, api.call(`/v1/clinical-api/cases/${textAt(body, 'case_id')}`))
})

test('3.1 row 4: analysis succeeds -> completed', async () => {
  for (const end of [inline.end, slot.end]) {
    expect(end).toMatchObject({
      status: 'completed',
      error: null,
      result: { ai_provider: expect.any(String), outcome: expect.any(Object), completed_at: expect.any(String) },
    })
    expect(imagesOf(end)).toEqual(['processed', 'processed'])
    expect((await webhookAbout(receiver, idOf(end))).body).toContain('"completed"')
  }
})

test('3.1 row 5: analysis fails -> failed', async () => {
  expect(failed).toMatchObject({
    status: 'failed',
    result: null,
    error: { code: 'CONSENT_MISSING', message: expect.any(String) },
  })
  expect((await webhookAbout(receiver, idOf(failed))).body).toContain('"failed"')
})

test('3.1: completed and failed are terminal', async () => {
  for (const end of [inline.end, failed]) {
    const id = idOf(end)
    await submit(api, id)
    expect(withoutSignatures((await read(id)).body)).toEqual(withoutSignatures(end))
    expect(end).not.toHaveProperty('next_poll_after_ms')
  }
  expect(at((await expecting(200, submit(api, idOf(slot.end)))).body, 'status')).toBe('completed')
  expect(refusalOf(await submit(api, idOf(failed)))).toEqual([409, 'assessment-not-awaiting-images', undefined])
  // A whole run of another assessment gives enough time for a wrong later change.
  await webhookAbout(
    receiver,
    await requestAssessment(api, assessmentBody(await registerPatient(api), [await photograph()])),
  )
  expect([inline.end, slot.end, failed].map((end) => webhooksAbout(receiver, idOf(end)).length)).toEqual([1, 1, 1])
})

test('3.5: images awaiting_upload -> received -> processed', () => {
  expect([slot.answer.body, slot.submitted.body, slot.end].map((record) => imagesOf(record)[0])).toEqual([
    'awaiting_upload',
    'received',
    'processed',
  ])
  expect([inline.answer.body, inline.end].map((record) => imagesOf(record)[0])).toEqual(['received', 'processed'])
  expect(imagesOf(failed)).toEqual(['received'])
})

test('4.2 rule 1: exactly one of patient and patient_id', async () => {
  const { patient_id, ...rest } = assessmentBody(await registerPatient(api), [await photograph()])
  const patient = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' }
  const pointerOf = async (body: object) => refusalOf(await api.call(assessments, { body }))
  expect(await pointerOf({ ...rest, patient_id, patient })).toEqual([400, 'validation-failed', '/patient'])
  expect(await pointerOf(rest)).toEqual([400, 'validation-failed', '/patient'])
  for (const missing of ['given_name', 'family_name', 'dob']) {
    expect(await pointerOf({ ...rest, patient: { ...patient, [missing]: undefined } })).toEqual([
      400,
      'validation-failed',
      `/patient/${missing}`,
    ])
  }
  await expecting(202, api.call(assessments, { body: { ...rest, patient } }))
  expect(inline.answer.status).toBe(202)
})

test('4.2 rule 2: at least one image, each with capture_type and mime_type', async () => {
  const photo = await photograph()
  const valid = assessmentBody(await registerPatient(api), [photo])
  const pointerOf = async (images: unknown) => refusalOf(await api.call(assessments, { body: { ...valid, images } }))
  expect(await pointerOf([])).toEqual([400, 'validation-failed', '/images'])
  expect(await pointerOf(undefined)).toEqual([400, 'validation-failed', '/images'])
  for (const missing of ['capture_type', 'mime_type']) {
    expect(await pointerOf([{ ...photo.entry, [missing]: undefined }])).toEqual([
      400,
      'validation-failed',
      `/images/0/${missing}`,
    ])
  }
})

test('4.2 rule 3: inline answers processing, images received, next_poll_after_ms', () => {
  expect(inline.answer.body).toMatchObject({
    status: 'processing',
    images: [{ status: 'received' }, { status: 'received' }],
    next_poll_after_ms: expect.any(Number),
  })
  expect(JSON.stringify(inline.answer.body)).not.toContain('upload_url')
})

test('4.2 rule 4: slot answers awaiting_images, an upload_url each, no next_poll_after_ms', () => {
  const awaited = { status: 'awaiting_upload', upload_url: expect.stringMatching(/^https?:/) }
  expect(slot.answer.body).toMatchObject({ status: 'awaiting_images', case_id: null, images: [awaited, awaited] })
  expect(slot.answer.body).not.toHaveProperty('next_poll_after_ms')
  expect(slot.answer.headers.get('retry-after')).toBeNull()
})

test('4.2 rule 5: the PUT carries no Authorization, and the address lives for five minutes', async () => {
  const { photographs, body } = uploads
  const [url, bytes] = [uploadUrlOf(body, 0), photographs[0]?.bytes ?? Buffer.alloc(0)]
  expect(new URL(url).searchParams.get('X-Amz-Expires')).toBe('300')
  expect(await put(url, bytes, { 'content-type': 'image/jpeg', authorization: 'Bearer token' })).toBe(400)
  const none = await expecting(409, submit(api, idOf(body)))
  expect([at(none.body, 'code'), at(none.body, 'missing_image_ids')]).toEqual(['uploads-incomplete', imageIdsOf(body)])
  const headers = { 'content-type': 'image/jpeg' }
  const response = await fetch(url, { method: 'PUT', body: new Uint8Array(bytes), headers })
  expect([response.status, await response.text()]).toEqual([200, ''])
})

test('4.2 rule 6: one PUT for every image before submit', async () => {
  const { photographs, body } = uploads
  const [, second] = imageIdsOf(body)
  const early = await expecting(409, submit(api, idOf(body)))
  expect([at(early.body, 'code'), at(early.body, 'missing_image_ids')]).toEqual(['uploads-incomplete', [second]])
  expect(at((await read(idOf(body))).body, 'status')).toBe('awaiting_images')
  await put(uploadUrlOf(body, 1), photographs[1]?.bytes ?? Buffer.alloc(0))
  expect(at((await expecting(200, submit(api, idOf(body)))).body, 'status')).toBe('processing')
})

test('4.2 rule 7: a repeated Idempotency-Key answers the same record, with another payload 409', async () => {
  const photo = await photograph()
  const patientId = await registerPatient(api)
  for (const [mode, body] of [
    ['inline', assessmentBody(patientId, [photo])],
    ['slot', declaration(patientId, [photo])],
  ] as const) {
    const headers = { 'idempotency-key': `rule-7-${mode}` }
    const first = await expecting(202, api.call(assessments, { body, headers }))
    const again = await expecting(202, api.call(assessments, { body, headers }))
    expect([at(again.body, 'id'), imageIdsOf(again.body)]).toEqual([at(first.body, 'id'), imageIdsOf(first.body)])
    expect([first, again].map((answer) => answer.headers.get('idempotency-replayed'))).toEqual([null, 'true'])
    const other = await api.call(assessments, { body: { ...body, external_reference: 'another' }, headers })
    expect(refusalOf(other)).toEqual([409, 'idempotency-key-reused', undefined])
  }
})

test("4.2 rule 8: another organisation's record, or an unknown id, is 404", async () => {
  const unknown = '0190b0a0-0000-7000-8000-000000000001'
  const answers = [
    await stranger.call(`${assessments}/${idOf(inline.end)}`),
    await stranger.call(`${assessments}/${unknown}`),
    await api.call(`${assessments}/${unknown}`),
    await submit(stranger, idOf(slot.end)),
    await submit(api, unknown),
  ]
  expect(answers.map(refusalOf)).toEqual(answers.map(() => [404, 'not-found', undefined]))
})

test('4.2 rule 9: next_poll_after_ms while processing, none at the end', () => {
  expect(slot.awaited.body).not.toHaveProperty('next_poll_after_ms')
  for (const { body: record } of [slot.submitted, slot.polled, inline.answer])
    expect(record).toMatchObject({ status: 'processing', next_poll_after_ms: 5000 })
  for (const end of [slot.end, failed]) expect(end).not.toHaveProperty('next_poll_after_ms')
})

test('4.2 rule 10: the webhook body is the record of 2.2', async () => {
  for (const end of [inline.end, slot.end, failed]) {
    const webhook = await webhookAbout(receiver, idOf(end))
    expect(webhook.headers['content-type']).toMatch(/^application\/json/)
    expect(withoutSignatures(JSON.parse(webhook.body))).toEqual(withoutSignatures(end))
  }
})

test('6: the end of an assessment is on assessment.events, by ids alone', async () => {
  for (const [end, published] of [
    [inline.end, { status: 'completed', error_code: null }],
    [failed, { status: 'failed', error_code: 'CONSENT_MISSING' }],
  ] as const) {
    const events = await waitFor('the event of the end', async () => {
      const found = await eventsAbout('assessment.events', 'assessment_id', idOf(end))
      return found.length === 0 ? undefined : found
    })
    const { org_id, product_id } = clientOf(platform.process, 0)
    expect(events).toMatchObject([
      {
        type: `assessment.${published.status}`,
        data: { ...published, org_id, product_id, patient_id: at(end, 'patient_id'), case_id: at(end, 'case_id') },
      },
    ])
    expect(JSON.stringify(events)).not.toContain('outcome')
  }
})

test('6: patients and cases are on clinical.events, by ids alone', async () => {
  const [patientId, caseId] = [textAt(inline.end, 'patient_id'), textAt(inline.end, 'case_id')]
  const [opened] = await waitFor('the event of the case', async () => {
    const found = (await eventsAbout('clinical.events', 'case_id', caseId)).filter(
      ({ type }) => type === 'clinical.case.opened',
    )
    return found.length === 0 ? undefined : found
  })
  expect(opened?.data).toMatchObject({
    patient_id: patientId,
    assessment_id: idOf(inline.end),
    event_type: 'clinical.case.opened',
  })
  const registered = (await eventsAbout('clinical.events', 'patient_id', patientId)).filter(
    ({ type }) => type === 'clinical.patient.registered',
  )
  expect(registered).toHaveLength(1)
})

test('every answer is documented', async () => {
  expect(await watched.undocumented()).toEqual([])
})

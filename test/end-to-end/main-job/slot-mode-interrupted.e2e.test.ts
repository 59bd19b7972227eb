import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  requestAssessment,
  subscribeToEnds,
  webhookAbout,
  webhooksAbout,
  type ConsentTerms,
} from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { assessments, declare, put, refusalOf, submit, uploadAll, uploadUrlOf } from './uploads.ts'

let platform: TestPlatform
let api: ApiClient
let terms: ConsentTerms
let receiver: WebhookReceiver

beforeAll(async () => {
  platform = await startTestPlatform()
  api = await platform.connect()
  terms = await createConsentTerms(api, platform.process.credentials.org_id)
  receiver = await startWebhookReceiver()
  await subscribeToEnds(api, receiver)
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

/** Number of times that the provider got a photograph. */
async function timesSent(sha256: string): Promise<number> {
  return (await platform.provider.calls()).filter((call) => call.call === 'image' && call.sha256 === sha256).length
}

test('uploads survive a restart, and a repeated request is answered under any token', async () => {
  const photo = await photograph()
  const [patientId, headers] = [await consentedPatient(api, terms), { 'idempotency-key': 'restarted' }]
  const created = await declare(api, patientId, [photo], headers)
  const id = textAt(created.body, 'id')
  await uploadAll(created.body, [photo])
  await platform.restart()
  const renewed = await platform.connect()
  expect(at((await declare(renewed, patientId, [photo], headers)).body, 'id')).toBe(id)
  const submitted = await expecting(200, submit(renewed, id, headers))
  expect(at(await endOf(renewed, id), 'status')).toBe('completed')

  await platform.restart({ FAILPOINT: 'assessment-submitted' })
  api = await platform.connect()
  const again = await expecting(200, submit(api, id, headers))
  expect([at(again.body, 'case_id'), again.headers.get('idempotency-replayed')]).toEqual([
    at(submitted.body, 'case_id'),
    'true',
  ])
  expect(await timesSent(photo.sha256)).toBe(1)
  await webhookAbout(receiver, id)
  expect(webhooksAbout(receiver, id)).toHaveLength(1)
})

test('a submit that dies before its case is open is finished by the next start, once', async () => {
  const photo = await photograph()
  const { body } = await declare(api, await consentedPatient(api, terms), [photo])
  const id = textAt(body, 'id')
  await uploadAll(body, [photo])
  const headers = { 'idempotency-key': 'killed' }
  await expect(submit(api, id, headers)).rejects.toThrow()
  expect(await platform.process.exited).toBeNull()

  await platform.restart({ UPLOAD_WINDOW_SECONDS: '2' })
  // The client got no answer, so it sends the same request again.
  const again = await expecting(200, submit(api, id, headers))
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  const ended = await endOf(api, id)
  expect([at(ended, 'status'), at(ended, 'case_id')]).toEqual(['completed', at(again.body, 'case_id')])
  const reviews = await expecting(200, api.call(`/v1/ai-reviews?caseId=${textAt(ended, 'case_id')}`))
  expect(at(reviews.body, 'data', 'length')).toBe(1)
  expect(await timesSent(photo.sha256)).toBe(1)
  await webhookAbout(receiver, id)
  expect(webhooksAbout(receiver, id)).toHaveLength(1)
})

test('an assessment whose window closes fails once, accepts nothing more, and has no case', async () => {
  const photo = await photograph()
  const [patientId, headers] = [await consentedPatient(api, terms), { 'idempotency-key': 'too-late' }]
  const created = await declare(api, patientId, [photo], headers)
  const id = textAt(created.body, 'id')
  expect(await put(uploadUrlOf(created.body, 0), photo.bytes)).toBe(200)
  const failed = await waitFor('the end of the window', async () => {
    const { body } = await expecting(200, api.call(`${assessments}/${id}`))
    return at(body, 'status') === 'awaiting_images' ? undefined : body
  })
  const image = { id: expect.any(String), capture_type: 'dermoscopic', status: 'awaiting_upload' }
  expect(failed).toEqual({
    id,
    status: 'failed',
    patient_id: patientId,
    case_id: null,
    images: [image],
    result: null,
    error: { code: 'UPLOAD_WINDOW_EXPIRED', message: 'The images were not submitted in time.', retriable: true },
  })
  const refused = [409, 'assessment-not-awaiting-images', undefined]
  expect(refusalOf(await submit(api, id))).toEqual(refused)
  expect(refusalOf(await submit(api, id, headers))).toEqual(refused)
  const imageId = textAt(failed, 'images', 0, 'id')
  expect(refusalOf(await api.call(`${assessments}/${id}/images/${imageId}/upload-url`, { method: 'POST' }))).toEqual(
    refused,
  )
  expect((await declare(api, patientId, [photo], headers)).body).toEqual(failed)

  const webhook = await webhookAbout(receiver, id)
  expect([webhook.headers['webhook-event-type'], JSON.parse(webhook.body)]).toEqual(['assessment.failed', failed])
  // A whole run of a later assessment gives enough time for a wrong second webhook.
  await webhookAbout(receiver, await requestAssessment(api, assessmentBody(patientId, [await photograph()])))
  expect(webhooksAbout(receiver, id)).toHaveLength(1)
  expect(await timesSent(photo.sha256)).toBe(0)
})

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { at, textAt, type ApiClient } from '../../../platform/demo/api-client.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../platform/demo/webhook-receiver.ts'
import {
  assessmentBody, consentedPatient, createConsentTerms, endOf, expecting, photograph, requestAssessment, webhookAbout, webhooksAbout,
} from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'

let platform: TestPlatform
let api: ApiClient
let receiver: WebhookReceiver
let patientId: string

/** The second try of a review comes when its addresses have expired; the first one long before. */
const env = { READ_URL_TTL_SECONDS: '4', PROVIDER_START_RETRY_SCHEDULE_MS: '5000,100,100' }
const outage = { call: 'case', status: 503 } as const

beforeAll(async () => {
  platform = await startTestPlatform({ env })
  api = await platform.connect()
  patientId = await consentedPatient(api, await createConsentTerms(api, platform.process.credentials.org_id))
  receiver = await startWebhookReceiver()
  const body = { url: receiver.url, event_types: ['assessment.completed', 'assessment.failed'] }
  await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body }))
})
beforeEach(() => platform.provider.reset())
afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

/** An assessment of two photographs that has ended, and the reviews of its case, newest first. */
async function ended() {
  const photographs = [await photograph('dermoscopic'), await photograph('macroscopic')]
  const id = await requestAssessment(api, assessmentBody(patientId, photographs))
  const assessment = await endOf(api, id)
  const reviews = await waitFor('reviews that have ended', async () => {
    const { body } = await api.call(`/v1/ai-reviews?caseId=${textAt(assessment, 'case_id')}`)
    return ['completed', 'failed'].includes(String(at(body, 'data', 0, 'status'))) ? at(body, 'data') : undefined
  })
  return { id, assessment, reviews, photographs }
}

async function oneWebhookAbout(id: string): Promise<void> {
  await webhookAbout(receiver, id)
  await webhookAbout(receiver, await requestAssessment(api, assessmentBody(patientId, [await photograph()])))
  expect(webhooksAbout(receiver, id)).toHaveLength(1)
}

test('read addresses that expire while the provider is away are renewed, and the assessment completes', async () => {
  await platform.provider.fault(outage)
  const { id, assessment, reviews, photographs } = await ended()
  expect(assessment).toMatchObject({ status: 'completed', error: null, images: [{ status: 'processed' }, { status: 'processed' }] })
  const newId = textAt(reviews, 0, 'id')
  expect(reviews).toMatchObject([
    { status: 'completed', supersededById: null },
    { status: 'superseded', supersededById: newId, errorClassification: 'image_fetch_failed' },
  ])
  expect(reviews).toHaveLength(2)
  const sent = (await platform.provider.calls()).filter(({ call }) => call === 'image').map(({ sha256, imageType }) => [sha256, imageType])
  expect(sent).toEqual([[photographs[0]?.sha256, 'DERMOSCOPIC'], [photographs[1]?.sha256, 'MACROSCOPIC']])
  await oneWebhookAbout(id)
})

test('they are renewed once: expired again, they fail the assessment', async () => {
  // The second call is answered truly, which begins the first review's provider case; the third is the new review's first.
  await platform.provider.fault(outage, { call: 'case', status: 200 }, outage)
  const { id, assessment, reviews } = await ended()
  expect(assessment).toMatchObject({ status: 'failed', error: { code: 'IMAGE_FETCH_FAILED' } })
  expect(reviews).toMatchObject([
    { status: 'failed', errorClassification: 'image_fetch_failed', supersededById: null },
    { status: 'superseded', supersededById: textAt(reviews, 0, 'id') },
  ])
  expect(reviews).toHaveLength(2)
  expect((await platform.provider.story()).filter((call) => call.startsWith('image'))).toEqual([])
  await oneWebhookAbout(id)
})

test('a failure that has nothing to do with addresses is not renewed', async () => {
  await platform.provider.fault({ call: 'image', status: 422 })
  const { id, assessment, reviews } = await ended()
  expect(assessment).toMatchObject({ status: 'failed', error: { code: 'PROVIDER_REJECTED' } })
  expect(reviews).toMatchObject([{ status: 'failed', supersededById: null }])
  expect(reviews).toHaveLength(1)
  await oneWebhookAbout(id)
})

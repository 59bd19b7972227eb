import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { at, textAt, type ApiClient } from '../../../platform/demo/api-client.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../platform/demo/webhook-receiver.ts'
import {
  assessmentBody, consentedPatient, createConsentTerms, endOf, expecting, photograph, requestAssessment, reviewOfCase, subscribeToEnds, webhookAbout,
  webhooksAbout, type Photograph,
} from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { eventsOf } from '../bad-days/recorded-events.ts'

let platform: TestPlatform
let api: ApiClient
let receiver: WebhookReceiver
let patientId: string

/** The second try of a review comes when its addresses have expired; a renewal's are taken before they have. */
const env = { READ_URL_TTL_SECONDS: '4', PROVIDER_START_RETRY_SCHEDULE_MS: '5000,100,100' }
const outage = { call: 'case', status: 503 } as const

beforeAll(async () => {
  platform = await startTestPlatform({ env })
  api = await platform.connect()
  patientId = await consentedPatient(api, await createConsentTerms(api, platform.process.credentials.org_id))
  receiver = await startWebhookReceiver()
  await subscribeToEnds(api, receiver)
})
beforeEach(() => platform.provider.reset())
afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

interface Requested {
  readonly id: string
  readonly photographs: readonly Photograph[]
}

/** An assessment of two photographs. */
async function requested(): Promise<Requested> {
  const photographs = [await photograph('dermoscopic'), await photograph('macroscopic')]
  return { id: await requestAssessment(api, assessmentBody(patientId, photographs)), photographs }
}

/** The assessment's record once it has ended, and the reviews of its case, newest first. */
async function endingOf({ id }: Requested) {
  const assessment = await endOf(api, id)
  const reviews = await waitFor('reviews that have ended', async () => {
    const { body } = await api.call(`/v1/ai-reviews?caseId=${textAt(assessment, 'case_id')}`)
    return ['completed', 'failed'].includes(String(at(body, 'data', 0, 'status'))) ? at(body, 'data') : undefined
  })
  return { assessment, reviews }
}

async function restart(settings: Readonly<Record<string, string>>): Promise<void> {
  await platform.restart(settings)
  api = await platform.connect()
}

async function oneWebhookAbout(id: string): Promise<void> {
  await webhookAbout(receiver, id)
  await webhookAbout(receiver, await requestAssessment(api, assessmentBody(patientId, [await photograph()])))
  expect(webhooksAbout(receiver, id)).toHaveLength(1)
}

test('read addresses that have expired twice fail the assessment: they are renewed once', async () => {
  // The second call is answered truly, which begins the first review's provider case; the third is the new review's first.
  await platform.provider.fault(outage, { call: 'case', status: 200 }, outage)
  const job = await requested()
  const { assessment, reviews } = await endingOf(job)
  expect(assessment).toMatchObject({ status: 'failed', error: { code: 'IMAGE_FETCH_FAILED' } })
  expect(reviews).toMatchObject([
    { status: 'failed', errorClassification: 'image_fetch_failed', supersededById: null },
    { status: 'superseded', supersededById: textAt(reviews, 0, 'id') },
  ])
  expect(reviews).toHaveLength(2)
  expect((await platform.provider.story()).filter((call) => call.startsWith('image'))).toEqual([])
  await oneWebhookAbout(job.id)
})

test('a failure that has nothing to do with addresses is not renewed', async () => {
  await platform.provider.fault({ call: 'case', status: 422 })
  const job = await requested()
  const { assessment, reviews } = await endingOf(job)
  expect(assessment).toMatchObject({ status: 'failed', error: { code: 'PROVIDER_REJECTED' } })
  expect(reviews).toMatchObject([{ status: 'failed', supersededById: null }])
  expect(reviews).toHaveLength(1)
  await oneWebhookAbout(job.id)
})

test('read addresses that expire while the provider and the platform are away are renewed, and the assessment completes', async () => {
  // Time enough to stop before the second try, which then comes with addresses of an hour for whatever is renewed.
  await restart({ PROVIDER_START_RETRY_SCHEDULE_MS: '10000,100,100' })
  await platform.provider.fault(outage)
  const job = await requested()
  const { body } = await expecting(200, api.call(`/v1/clinical-api/assessments/${job.id}`))
  const { eventstore_url: url, org_id: orgId } = platform.process.credentials
  const stream = `ai_review-${orgId}-${textAt(await reviewOfCase(api, textAt(body, 'case_id')), 'id')}`
  await waitFor('a try that failed', async () => (await eventsOf(url ?? '', stream)).find(({ type }) => type === 'AiReviewStartDeferred'))
  await restart({ READ_URL_TTL_SECONDS: '3600' })

  const { assessment, reviews } = await endingOf(job)
  expect(assessment).toMatchObject({ status: 'completed', error: null, images: [{ status: 'processed' }, { status: 'processed' }] })
  expect(reviews).toMatchObject([
    { status: 'completed', supersededById: null },
    { status: 'superseded', supersededById: textAt(reviews, 0, 'id'), errorClassification: 'image_fetch_failed' },
  ])
  expect(reviews).toHaveLength(2)
  const sent = (await platform.provider.calls()).filter(({ call }) => call === 'image').map(({ sha256, imageType }) => [sha256, imageType])
  expect(sent).toEqual([[job.photographs[0]?.sha256, 'DERMOSCOPIC'], [job.photographs[1]?.sha256, 'MACROSCOPIC']])
  await oneWebhookAbout(job.id)
})

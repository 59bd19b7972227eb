import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
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
  reviewOfCase,
  subscribeToEnds,
  webhookAbout,
  webhooksAbout,
  type Photograph,
} from '../../support/main-job.ts'
import { startPlatformHere, waitFor, type PlatformHere } from '../../support/platform.ts'
import { startImageHost, type ImageHost } from './image-host.ts'

let platform: PlatformHere
let api: ApiClient
let receiver: WebhookReceiver
let host: ImageHost
let patientId: string

/** The second try of a review comes after an address has expired. */
const env = { READ_URL_TTL_SECONDS: '4', PROVIDER_START_RETRY_SCHEDULE_MS: '5000,100,100' }
const outage = { call: 'case', status: 503 } as const

beforeAll(async () => {
  platform = await startPlatformHere({ env })
  api = await platform.connect()
  patientId = await consentedPatient(api, await createConsentTerms(api, platform.process.credentials.org_id))
  host = await startImageHost(new Uint8Array())
  receiver = await startWebhookReceiver()
  await subscribeToEnds(api, receiver)
})
beforeEach(() => platform.provider.reset())
afterAll(async () => {
  await platform.stop()
  await Promise.all([receiver.close(), host.close()])
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

/** The final record of the assessment, and the reviews of its case, newest first. */
async function endingOf({ id }: Requested) {
  const assessment = await endOf(api, id)
  const reviews = await waitFor('reviews that have ended', async () => {
    const { body } = await api.call(`/v1/ai-reviews?caseId=${textAt(assessment, 'case_id')}`)
    return ['completed', 'failed'].includes(String(at(body, 'data', 0, 'status'))) ? at(body, 'data') : undefined
  })
  return { assessment, reviews }
}

async function oneWebhookAbout(id: string): Promise<void> {
  await webhookAbout(receiver, id)
  await webhookAbout(receiver, await requestAssessment(api, assessmentBody(patientId, [await photograph()])))
  expect(webhooksAbout(receiver, id)).toHaveLength(1)
}

test('addresses of platform images are signed at the time of use, so none expires while the provider is away', async () => {
  await platform.provider.fault(outage)
  const job = await requested()
  const { assessment, reviews } = await endingOf(job)
  expect(assessment).toMatchObject({
    status: 'completed',
    error: null,
    images: [{ status: 'processed' }, { status: 'processed' }],
  })
  expect(reviews).toMatchObject([{ status: 'completed', supersededById: null }])
  expect(reviews).toHaveLength(1)
  await sentTo(job)
  await oneWebhookAbout(job.id)
})

test('a failure without an expired address causes no renewal', async () => {
  await platform.provider.fault({ call: 'case', status: 422 })
  const job = await requested()
  const { assessment, reviews } = await endingOf(job)
  expect(assessment).toMatchObject({ status: 'failed', error: { code: 'PROVIDER_REJECTED' } })
  expect(reviews).toMatchObject([{ status: 'failed', supersededById: null }])
  expect(reviews).toHaveLength(1)
  await oneWebhookAbout(job.id)
})

test('expired addresses of a caller are replaced once, and the assessment completes', async () => {
  await platform.provider.fault({ call: 'case', delay_ms: 3_000 })
  const job = await requested()
  const { body } = await expecting(200, api.call(`/v1/clinical-api/assessments/${job.id}`))
  const first = textAt(await reviewOfCase(api, textAt(body, 'case_id')), 'id')
  const presignedUrlExpiresAt = new Date(Date.now() + 2_000).toISOString()
  const image = {
    imageId: textAt(body, 'images', 0, 'id'),
    imageType: 'DERMOSCOPIC',
    presignedUrl: host.missing,
    presignedUrlExpiresAt,
  }
  await expecting(202, api.call(`/v1/ai-reviews/${first}/supersede`, { body: { images: [image] } }))

  const { assessment, reviews } = await endingOf(job)
  expect(assessment).toMatchObject({
    status: 'completed',
    error: null,
    images: [{ status: 'processed' }, { status: 'processed' }],
  })
  expect(reviews).toMatchObject([
    { status: 'completed', supersededById: null },
    { status: 'superseded', supersededById: textAt(reviews, 0, 'id'), errorClassification: 'image_fetch_failed' },
    { id: first, status: 'superseded', supersededById: textAt(reviews, 1, 'id') },
  ])
  expect(reviews).toHaveLength(3)
  await sentTo(job)
  await oneWebhookAbout(job.id)
})

async function sentTo({ photographs: [first, second] }: Requested): Promise<void> {
  const sent = (await platform.provider.calls())
    .filter(({ call }) => call === 'image')
    .map(({ sha256, imageType }) => [sha256, imageType])
  expect(sent).toEqual([
    [first?.sha256, 'DERMOSCOPIC'],
    [second?.sha256, 'MACROSCOPIC'],
  ])
}

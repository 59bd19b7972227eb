import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { FaultControl, ResultControl } from '../../../embedded/provider/controls.ts'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  decideConsent,
  endOf,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
  reviewOfCase,
  subscribeToEnds,
  webhookAbout,
  webhooksAbout,
  withoutSignatures,
  type ConsentTerms,
} from '../../support/main-job.ts'
import { areRolesApart, startPlatformHere, waitFor, type PlatformHere } from '../../support/platform.ts'

let platform: PlatformHere
let watched: WatchedPlatform
let api: ApiClient
let terms: ConsentTerms
let receiver: WebhookReceiver
let secret: string
/** At most four polls, and minimal waits between retries. */
const env = {
  PROVIDER_RESULT_MAX_ATTEMPTS: '4',
  PROVIDER_RESULT_INITIAL_DELAY_MS: '20',
  PROVIDER_RESULT_BACKOFF_SCHEDULE_MS: '20',
  PROVIDER_START_RETRY_SCHEDULE_MS: '20,20,20',
  WEBHOOK_RETRY_SCHEDULE_MS: '0,20,20',
}

/** Answers of the receiver, in order, to deliveries about the assessment with this reference. All others get 204. */
const refused = { reference: 'refused-twice', answers: [500, 302] }

beforeAll(async () => {
  platform = await startPlatformHere({ env })
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  terms = await createConsentTerms(api, platform.process.credentials.org_id)
  receiver = await startWebhookReceiver(({ body }) =>
    at(JSON.parse(body), 'external_reference') === refused.reference ? (refused.answers.shift() ?? 204) : 204,
  )
  secret = await subscribeToEnds(api, receiver)
  // Opens the session here, so that every test begins with the same call.
  await endOf(
    api,
    await requestAssessment(api, assessmentBody(await consentedPatient(api, terms), [await photograph()])),
  )
})

beforeEach(() => platform.provider.reset())

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

interface Ended {
  readonly id: string
  readonly assessment: unknown
  readonly review: unknown
  readonly story: string
}

/** Runs an assessment of two photographs to its end. */
async function run(patientId?: string, members: Readonly<Record<string, unknown>> = {}): Promise<Ended> {
  const photographs = [await photograph('dermoscopic'), await photograph('macroscopic')]
  const body = assessmentBody(patientId ?? (await consentedPatient(api, terms)), photographs)
  const id = await requestAssessment(api, { ...body, ...members })
  const assessment = await endOf(api, id)
  const review = await reviewOfCase(api, textAt(assessment, 'case_id'))
  return { id, assessment, review, story: (await platform.provider.story()).join(', ') }
}

async function failedWebhookOf({ id, assessment }: Ended): Promise<void> {
  const webhook = await webhookAbout(receiver, id)
  expect(webhook.headers['webhook-event-type']).toBe('assessment.failed')
  expect(new Webhook(secret).verify(webhook.body, { ...webhook.headers })).toEqual(assessment)
}

const success = 'image 200, image 200, process 200, result 200'

interface Setback {
  readonly what: string
  readonly faults?: readonly Partial<FaultControl>[]
  readonly results?: readonly Omit<ResultControl, 'sha256'>[]
  readonly story: string
}

const overcome: readonly Setback[] = [
  {
    what: 'two 5xx to `case`',
    faults: [{ call: 'case', status: 500, times: 2 }],
    story: `case 500, case 500, case 200, ${success}`,
  },
  {
    what: 'two 5xx to `image`',
    faults: [{ call: 'image', status: 503, times: 2 }],
    story: `case 200, image 503, image 503, ${success}`,
  },
  {
    what: 'two 5xx to `process`',
    faults: [{ call: 'process', status: 502, times: 2 }],
    story: 'case 200, image 200, image 200, process 502, process 502, process 200, result 200',
  },
  {
    what: 'a 5xx and a 429 to `result`',
    faults: [
      { call: 'result', status: 500 },
      { call: 'result', status: 429 },
    ],
    story: `case 200, ${success.replace('result', 'result 500, result 429, result')}`,
  },
  {
    what: 'a 401 to `case`',
    faults: [{ call: 'case', status: 401 }],
    story: `case 401, login 200, case 200, ${success}`,
  },
  {
    what: 'a 401 to `image`',
    faults: [{ call: 'image', status: 401 }],
    story: `case 200, image 401, login 200, ${success}`,
  },
  {
    what: 'a 401 to `result`',
    faults: [{ call: 'result', status: 401 }],
    story: `case 200, ${success.replace('result', 'result 401, login 200, result')}`,
  },
  {
    what: 'two polls that are not ready',
    results: [{ not_ready_polls: 2 }],
    story: `case 200, ${success}, result 200, result 200`,
  },
]

test.each(overcome)('$what: the assessment is completed', async ({ faults = [], results = [], story }) => {
  await platform.provider.fault(...faults)
  await platform.provider.result(...results.map((result) => ({ sha256: '*', ...result })))
  const ended = await run()
  expect([at(ended.assessment, 'status'), at(ended.assessment, 'error'), at(ended.review, 'status')]).toEqual([
    'completed',
    null,
    'completed',
  ])
  expect(at(ended.review, 'errorClassification')).toBeNull()
  expect(ended.story).toBe(story)
})

interface Defeat extends Setback {
  readonly code: string
  readonly isRetriable: boolean
  readonly classification: string
  readonly upstreamStatus: number | null
}

const secretBody = 'words of the provider'
const forEver = 1_000_000
const defeats: readonly Defeat[] = [
  {
    what: '5xx for ever',
    faults: [{ call: 'process', status: 500, times: forEver, body: secretBody }],
    story: 'case 200, image 200, image 200, process 500, process 500, process 500, process 500',
    code: 'PROVIDER_UNAVAILABLE',
    isRetriable: true,
    classification: 'provider_upstream_transient',
    upstreamStatus: 500,
  },
  {
    what: 'a 4xx',
    faults: [{ call: 'process', status: 422, body: secretBody }],
    story: 'case 200, image 200, image 200, process 422',
    code: 'PROVIDER_REJECTED',
    isRetriable: false,
    classification: 'provider_client_error',
    upstreamStatus: 422,
  },
  {
    what: 'a 4xx to a poll',
    faults: [{ call: 'result', status: 404, body: secretBody }],
    story: 'case 200, image 200, image 200, process 200, result 404',
    code: 'PROVIDER_REJECTED',
    isRetriable: false,
    classification: 'provider_client_error',
    upstreamStatus: 404,
  },
  {
    what: 'a 401 after the new login',
    faults: [{ call: 'case', status: 401, times: 2 }],
    story: 'case 401, login 200, case 401',
    code: 'PROVIDER_UNAVAILABLE',
    isRetriable: true,
    classification: 'provider_auth_failed',
    upstreamStatus: 401,
  },
  {
    // The processor whose session was refused logs in again. With two processors, the other one has its own session.
    what: 'another analysis result',
    results: [{ analysis_result: 'PROCESSING_FAILED', image_quality: 'IMAGE_QUALITY_UNSUITABLE' }],
    story: `${areRolesApart ? '' : 'login 200, '}case 200, ${success}`,
    code: 'ANALYSIS_FAILED',
    isRetriable: false,
    classification: 'provider_processing_failed',
    upstreamStatus: null,
  },
  {
    what: 'never ready',
    results: [{ not_ready_polls: 1000 }],
    story: `case 200, ${success}, result 200, result 200, result 200`,
    code: 'ANALYSIS_TIMEOUT',
    isRetriable: true,
    classification: 'provider_result_timeout',
    upstreamStatus: null,
  },
]

test.each(defeats)(
  '$what: the assessment fails with $code',
  async ({ faults = [], results = [], story, code, isRetriable, classification, upstreamStatus }) => {
    await platform.provider.fault(...faults)
    await platform.provider.result(...results.map((result) => ({ sha256: '*', ...result })))
    const ended = await run()
    expect(ended.assessment).toMatchObject({
      status: 'failed',
      result: null,
      error: { code, message: expect.stringMatching(/\w/), retriable: isRetriable },
    })
    expect(at(ended.assessment, 'next_poll_after_ms')).toBeUndefined()
    expect(ended.review).toMatchObject({
      status: 'failed',
      errorClassification: classification,
      error: { code: classification, classification, upstreamStatus },
      result: null,
      lesions: [],
    })
    expect(JSON.stringify([ended.assessment, ended.review])).not.toContain(secretBody)
    const processed = classification === 'provider_processing_failed'
    const outcome = processed
      ? { analysisResult: 'PROCESSING_FAILED', providerVersion: '5.4.1-simulator' }
      : { analysisResult: null, providerVersion: null }
    const imageQuality = processed ? 'IMAGE_QUALITY_UNSUITABLE' : null
    expect(ended.review).toMatchObject({ ...outcome, images: [{ imageQuality }, { imageQuality }] })
    expect(ended.story).toBe(story)
    await failedWebhookOf(ended)
  },
)

const refusals = [
  { decided: 'no decision', decisions: [] },
  { decided: 'denied', decisions: ['denied'] },
  { decided: 'granted, then withdrawn', decisions: ['granted', 'withdrawn'] },
  { decided: 'granted, then denied', decisions: ['granted', 'denied'] },
] as const

test.each(refusals)('consent $decided: the assessment fails, and the provider is not called', async ({ decisions }) => {
  const patientId = await registerPatient(api)
  for (const decision of decisions) await decideConsent(api, patientId, terms, decision)
  const ended = await run(patientId)
  expect(ended.assessment).toMatchObject({
    status: 'failed',
    result: null,
    error: { code: 'CONSENT_MISSING', retriable: false },
  })
  expect(ended.review).toMatchObject({ status: 'failed', errorClassification: 'consent_missing', providerCaseId: null })
  expect(ended.story).toBe('')
  await failedWebhookOf(ended)
})

test('consent to another type is no consent to the analysis', async () => {
  const other = await createConsentTerms(api, platform.process.credentials.org_id, 'research')
  const patientId = await registerPatient(api)
  await decideConsent(api, patientId, other, 'granted')
  const ended = await run(patientId)
  expect(at(ended.assessment, 'error', 'code')).toBe('CONSENT_MISSING')
  expect(ended.story).toBe('')
})

test('a later decision after a denial counts', async () => {
  const patientId = await registerPatient(api)
  for (const decision of ['denied', 'granted'] as const) await decideConsent(api, patientId, terms, decision)
  expect(at((await run(patientId)).assessment, 'status')).toBe('completed')
})

test('one unsuitable image fails the assessment while the review is completed', async () => {
  const photographs = [await photograph('dermoscopic'), await photograph('macroscopic')]
  await platform.provider.result({ sha256: photographs[1]?.sha256 ?? '', image_quality: 'IMAGE_QUALITY_UNSUITABLE' })
  const id = await requestAssessment(api, assessmentBody(await consentedPatient(api, terms), photographs))
  const assessment = await endOf(api, id)
  expect(assessment).toMatchObject({
    status: 'failed',
    result: null,
    error: {
      code: 'IMAGE_QUALITY_INSUFFICIENT',
      message: 'At least one image is below the quality threshold.',
      retriable: true,
    },
    images: [{ status: 'received' }, { status: 'received' }],
  })
  const review = await reviewOfCase(api, textAt(assessment, 'case_id'))
  expect(review).toMatchObject({
    status: 'completed',
    error: null,
    errorClassification: null,
    images: [{ imageQuality: 'IMAGE_QUALITY_SUITABLE' }, { imageQuality: 'IMAGE_QUALITY_UNSUITABLE' }],
  })
  await failedWebhookOf({ id, assessment, review, story: '' })
})

test('a webhook that is not accepted is sent again under the same id', async () => {
  const { id, assessment } = await run(undefined, { external_reference: refused.reference })
  const deliveries = await waitFor('three deliveries', () => {
    const sent = webhooksAbout(receiver, id)
    return sent.length < 3 ? undefined : sent
  })
  expect(new Set(deliveries.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  for (const { body, headers } of deliveries) {
    expect(withoutSignatures(new Webhook(secret).verify(body, { ...headers }))).toEqual(withoutSignatures(assessment))
  }
})

test('a subscription to failures gets no success', async () => {
  const failures = await startWebhookReceiver()
  try {
    await expecting(
      201,
      api.call('/v1/clinical-api/webhook-subscriptions', {
        body: { url: failures.url, event_types: ['assessment.failed'], payload_mode: 'thin' },
      }),
    )
    const completed = await run()
    await platform.provider.fault({ call: 'case', status: 400 })
    const failed = await run()
    await Promise.all([
      webhookAbout(receiver, completed.id),
      webhookAbout(receiver, failed.id),
      webhookAbout(failures, failed.id),
    ])
    expect(failures.received.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { id: failed.id, status: 'failed' },
    ])
  } finally {
    await failures.close()
  }
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toContain('getAiReview 200')
  expect(await watched.undocumented()).toEqual([])
})

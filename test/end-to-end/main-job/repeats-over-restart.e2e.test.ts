import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { verifyReceipt } from '../../../contracts/consent/receipt.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
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
  subscribeToEnds,
  webhookAbout,
  webhooksAbout,
  withoutSignatures,
  type ConsentTerms,
} from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { eventsOf } from '../bad-days/recorded-events.ts'
import { startImageHost, type ImageHost } from './image-host.ts'

let platform: TestPlatform
let terms: ConsentTerms
let receiver: WebhookReceiver
let host: ImageHost

beforeAll(async () => {
  // After a kill the next instance waits for the open leases.
  platform = await startTestPlatform({
    env: {
      STEP_TIMEOUT_MS: '4000',
      STEP_LEASE_MS: '5000',
      WEBHOOK_TIMEOUT_MS: '2000',
      PROVIDER_RESULT_MAX_ATTEMPTS: '1000',
    },
  })
  const api = await platform.connect()
  terms = await createConsentTerms(api, platform.process.credentials.org_id)
  receiver = await startWebhookReceiver()
  host = await startImageHost((await photograph()).bytes)
  await subscribeToEnds(api, receiver)
})

afterAll(async () => {
  await platform.stop()
  await Promise.all([receiver.close(), host.close()])
})

function keyed(api: ApiClient, path: string, body: unknown, key: string): Promise<ApiAnswer> {
  return api.call(path, { body, headers: { 'idempotency-key': key } })
}

function wasReplayed({ headers }: ApiAnswer): boolean {
  return headers.get('idempotency-replayed') === 'true'
}

/** An assessment whose review polls for a result that never comes. */
async function polling(api: ApiClient, patientId: string) {
  const photo = await photograph()
  await platform.provider.result({ sha256: photo.sha256, not_ready_polls: 1_000_000 })
  const request = { body: assessmentBody(patientId, [photo]) }
  const { body } = await expecting(202, api.call('/v1/clinical-api/assessments', request))
  const caseId = textAt(body, 'case_id')
  const review = await waitFor('a review that polls', async () => {
    const seen = await reviewOfCase(api, caseId)
    return at(seen, 'status') === 'awaiting_result' ? seen : undefined
  })
  return { caseId, reviewId: textAt(review, 'id'), imageId: textAt(body, 'images', 0, 'id') }
}

test('a key returns its record under another token, after a stop, and after a kill, and published keys verify a receipt from before', async () => {
  const api = await platform.connect()
  const patientId = await consentedPatient(api, terms)
  const [cancelled, superseded] = [await polling(api, patientId), await polling(api, patientId)]
  const presignedUrlExpiresAt = new Date(Date.now() + 60_000).toISOString()
  const image = { imageType: 'DERMOSCOPIC', presignedUrl: host.address(), presignedUrlExpiresAt }
  const requests: readonly (readonly [path: string, body: unknown])[] = [
    ['/v1/clinical-api/assessments', assessmentBody(patientId, [await photograph()])],
    [
      '/v1/clinical-api/patients',
      {
        given_name: 'Grace',
        family_name: 'Example',
        dob: '1990-01-01',
        identifiers: [{ scheme: 'mrn', value: 'restarted' }],
      },
    ],
    ['/v1/clinical-api/cases', { patient_id: patientId }],
    ['/v1/clinical-api/webhook-subscriptions', { url: `${receiver.url}/other`, event_types: ['assessment.failed'] }],
    [`/v1/patients/${patientId}/consents`, { ...terms, decision: 'granted' }],
    [`/v1/ai-reviews/${cancelled.reviewId}/cancel`, {}],
    [`/v1/ai-reviews/${superseded.reviewId}/supersede`, { images: [{ ...image, imageId: superseded.imageId }] }],
  ]
  const repeat = async (client: ApiClient) =>
    Promise.all(requests.map(([path, body]) => keyed(client, path, body, 'lasting')))
  const first = await repeat(api)
  expect(first.map((answer) => [answer.status, wasReplayed(answer)])).toEqual(
    [202, 201, 201, 201, 201, 200, 202].map((status) => [status, false]),
  )
  await endOf(api, textAt(first[0]?.body, 'id'))
  const decision = first[4]?.body
  const receiptPath = `/v1/patients/${patientId}/consents/${textAt(decision, 'id')}/receipt`
  const receipt = textAt((await expecting(200, api.call(receiptPath))).body, 'receipt')

  const again = [await repeat(await platform.connect())]
  await platform.restart()
  again.push(await repeat(await platform.connect()))
  await platform.process.kill()
  await platform.restart()
  again.push(await repeat(await platform.connect()))
  for (const answers of again) {
    expect(answers.map((answer) => [answer.status, wasReplayed(answer)])).toEqual(
      first.map(({ status }) => [status, true]),
    )
    expect(answers.map(({ body }) => at(body, 'id'))).toEqual(first.map(({ body }) => at(body, 'id')))
    // An assessment is returned in its current state, the others in the state of their creation.
    expect(at(answers[0]?.body, 'status')).toBe('completed')
    expect(answers.slice(1).map(({ body }) => body)).toEqual(first.slice(1).map(({ body }) => body))
  }
  const keys: unknown = await (await fetch(`${platform.baseUrl}/v1/auth/.well-known/jwks.json`)).json()
  expect(await verifyReceipt(receipt, Object(at(keys, 'keys')))).toMatchObject({ record: decision })
  const { org_id: orgId, product_id: productId, eventstore_url: url } = platform.process.credentials
  const claims = await eventsOf(url ?? '', `ai_review_slot-${orgId}-${superseded.caseId}.${productId}`)
  expect(claims.map(({ type }) => type)).toEqual(['AiReviewSlotClaimed', 'AiReviewSlotClaimed'])
  const client = await platform.connect()
  const [path = '', body] = requests[1] ?? []
  const other = await keyed(client, path, { ...Object(body), given_name: 'Ada' }, 'lasting')
  expect([other.status, at(other.body, 'code')]).toEqual([409, 'idempotency-key-reused'])
})

test('a kill during two hundred requests with one key leaves one assessment, one review and one webhook', async () => {
  const api = await platform.connect()
  const photo = await photograph()
  const body = assessmentBody(await consentedPatient(api, terms), [photo])
  const path = '/v1/clinical-api/assessments'
  let answered = 0
  const cut = Promise.withResolvers<void>()
  const sent = Array.from({ length: 200 }, async () => {
    const answer = await keyed(api, path, body, 'cut-off')
    answered += 1
    if (answered === 20) cut.resolve()
    return answer
  })
  const settled = Promise.allSettled(sent)
  await cut.promise
  await platform.process.kill()
  const received = (await settled).flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const answers = received.filter(({ status }) => status === 202)
  expect(answers.length).toBeGreaterThanOrEqual(20)
  // Unlike a single process, a front without servers still answers (502).
  expect(received.filter(({ status }) => status !== 202 && status !== 502)).toEqual([])

  await platform.restart()
  const client = await platform.connect()
  const later = await Promise.all(Array.from({ length: 20 }, () => keyed(client, path, body, 'cut-off')))
  const [id = '', ...more] = new Set([...answers, ...later].map((answer) => textAt(answer.body, 'id')))
  expect(more).toEqual([])
  expect(later.every((answer) => answer.status === 202 && wasReplayed(answer))).toBe(true)

  const ended = await endOf(client, id)
  expect(at(ended, 'status')).toBe('completed')
  const reviews = await expecting(200, client.call(`/v1/ai-reviews?caseId=${textAt(ended, 'case_id')}`))
  expect(at(reviews.body, 'data')).toHaveLength(1)
  const webhook = await webhookAbout(receiver, id)
  expect(withoutSignatures(JSON.parse(webhook.body))).toEqual(withoutSignatures(ended))
  const next = await requestAssessment(client, assessmentBody(await registerPatient(client), [await photograph()]))
  await webhookAbout(receiver, next)
  expect(new Set(webhooksAbout(receiver, id).map(({ headers }) => headers['webhook-id'])).size).toBe(1)
})

import type { Answer, Client, Schemas } from 'clinical-assessment-client/source'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../../app/audit/run.ts'
import { readCommand } from '../../../app/command-line.ts'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { createApiClient, requestToken, type ApiAnswer, type ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type ReceivedWebhook, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import {
  assessmentBody,
  createConsentTerms,
  decideConsent,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
  reviewOfCase,
  webhookAbout,
  webhooksAbout,
  withoutSignatures,
  type ConsentTerms,
  type Photograph,
} from '../../support/main-job.ts'
import { clientOf, waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { runProgram } from '../bad-days/operator-program.ts'
import type { ProviderCall } from '../../support/provider.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

let platform: PlatformInUse
let watched: WatchedPlatform
let receiver: WebhookReceiver
let token: ApiAnswer
let api: ApiClient
/** The client of `api`. */
let client: Client
let terms: ConsentTerms
let patientId: string
let consent: Answer<Schemas['ConsentDecisionRecord']>
let subscription: Answer<Schemas['WebhookSubscriptionRecord']>
let photographs: readonly Photograph[]
let created: Answer<Schemas['AssessmentRecord']>
let completed: Schemas['AssessmentRecord']
let review: Schemas['AiReviewDetails']
let webhook: ReceivedWebhook
let calls: readonly ProviderCall[]
let caseId: string
/** ETags of the assessment while polling, in order. */
const etags: string[] = []
/** Statuses of assessment and review in GET answers, each change once, in order. */
const stages: string[] = []

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  receiver = await startWebhookReceiver()
  const { org_id: orgId } = platform.process.credentials
  token = await requestToken(platform.baseUrl, clientOf(platform.process, 0))
  api = watched.watch(createApiClient(platform.baseUrl, textAt(token.body, 'access_token')))
  client = api.client
  terms = await createConsentTerms(api, orgId)
  patientId = await registerPatient(api, { identifiers: [{ scheme: 'mrn', value: 'A-1' }] })
  consent = await decideConsent(api, patientId, terms, 'granted')
  subscription = await client.request('POST', '/v1/clinical-api/webhook-subscriptions', {
    body: { url: receiver.url, event_types: ['assessment.completed', 'assessment.failed'] },
  })

  photographs = [
    await photograph('dermoscopic'),
    await photograph('macroscopic', 'lesion-3.png'),
    await photograph('other', 'lesion-2.jpg'),
  ]
  await platform.provider.fault({ call: 'case', delay_ms: 800 }, { call: 'image', delay_ms: 800 })
  await platform.provider.result({ sha256: photographs[0]?.sha256 ?? '', not_ready_polls: 3 })
  const body = {
    ...assessmentBody(patientId, photographs),
    external_reference: 'reference-1',
    clinical_context: { itches: true },
    custom_fields: { ward: 'B' },
  }
  created = await client.request('POST', '/v1/clinical-api/assessments', { body, idempotencyKey: 'the-main-job' })
  caseId = textAt(created.data, 'case_id')
  completed = await followToEnd(created.data.id)
  review = await reviewOfCase(api, caseId)
  webhook = await webhookAbout(receiver, created.data.id)
  const checksum = review.providerChecksum
  // On a shared event store, a review of an earlier test may still poll for its result.
  calls = (await platform.provider.caseCalls()).filter((each) => each.call !== 'result' || each.checksum === checksum)
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

async function followToEnd(id: string): Promise<Schemas['AssessmentRecord']> {
  return waitFor('the assessment to end', async () => {
    const reviews = await client.request('GET', '/v1/ai-reviews', { params: { caseId } })
    const { data, headers } = await client.request('GET', '/v1/clinical-api/assessments/{id}', { params: { id } })
    const etag = headers.get('etag') ?? ''
    if (etags.at(-1) !== etag) etags.push(etag)
    const stage = `${data.status}, review ${reviews.data.data[0]?.status ?? 'none'}`
    if (stages.at(-1) !== stage) stages.push(stage)
    if (data.status === 'processing') expect(data.next_poll_after_ms).toBe(5000)
    return data.status === 'processing' ? undefined : data
  })
}

test('the token is a JWT (RFC 9068), and the published keys verify it', async () => {
  const { client_id, org_id, product_id, scopes } = clientOf(platform.process, 0)
  expect(token.status).toBe(200)
  expect(token.body).toEqual({
    access_token: expect.any(String),
    token_type: 'Bearer',
    expires_in: 3600,
    scope: scopes.toSorted().join(' '),
  })
  expect(token.headers.get('cache-control')).toBe('no-store')

  const keys = createRemoteJWKSet(new URL(`${platform.baseUrl}/v1/auth/.well-known/jwks.json`))
  const expected = {
    issuer: `${platform.baseUrl}/v1/auth`,
    audience: platform.baseUrl,
    typ: 'at+jwt',
    algorithms: ['EdDSA'],
  }
  const { payload, protectedHeader } = await jwtVerify(textAt(token.body, 'access_token'), keys, expected)
  expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'at+jwt', kid: expect.any(String) })
  const scope = scopes.toSorted().join(' ')
  expect(payload).toMatchObject({
    sub: client_id,
    client_id,
    org_id,
    product_id,
    scope,
    jti: expect.stringMatching(uuid),
  })
  expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(3600)
})

test('the decision is recorded, and status and checks return it', async () => {
  expect(consent.data).toEqual({
    id: expect.stringMatching(uuid),
    organisation_id: platform.process.credentials.org_id,
    patient_id: patientId,
    ...terms,
    consent_type_code: 'ai_analysis',
    text_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    decision: 'granted',
    recorded_at: expect.stringMatching(instant),
    recorded_by: clientOf(platform.process, 0).client_id,
    created_at: expect.stringMatching(instant),
  })
  const params = { patientId, typeCode: 'ai_analysis' }
  const path = '/v1/patients/{patientId}/consents/{typeCode}/status'
  expect((await client.request('GET', path, { params })).data).toEqual({
    granted: true,
    decision: 'granted',
    recorded_at: consent.data.recorded_at,
    text_version_id: terms.text_version_id,
    text_version_current: true,
    reconsent_required: false,
  })
  const asked = { patientId, types: 'ai_analysis,other', org_id: platform.process.credentials.org_id }
  const check = await client.request('GET', '/v1/patients/{patientId}/consents/check', { params: asked })
  expect(check.data).toEqual({ consents: { ai_analysis: true, other: false } })
  const records = await client.request('GET', '/v1/consent-records', {
    params: { patientId, consentTypeCode: 'ai_analysis' },
  })
  expect(records.data).toEqual({
    status: 'granted',
    granted: true,
    patientId,
    consentTypeCode: 'ai_analysis',
    record: consent.data,
    data: [consent.data],
  })
})

test('the subscription returns its secret once', async () => {
  const { id } = subscription.data
  expect(subscription.headers.get('location')).toBe(`/v1/clinical-api/webhook-subscriptions/${id}`)
  const { secret, ...shown } = subscription.data
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]+=*$/)
  const subscriptions = '/v1/clinical-api/webhook-subscriptions'
  expect((await client.request('GET', `${subscriptions}/{id}`, { params: { id } })).data).toEqual(shown)
  const page = { data: [shown], next_cursor: null, has_more: false }
  expect((await client.request('GET', subscriptions)).data).toEqual(page)
  const again = await client.request('POST', subscriptions, {
    body: { url: receiver.url, event_types: ['assessment.failed', 'assessment.completed'] },
  })
  expect([again.status, again.data]).toEqual([200, shown])
})

test('the create answers 202 with a processing record', () => {
  expect(created.status).toBe(202)
  expect(created.headers.get('location')).toBe(`/v1/clinical-api/assessments/${created.data.id}`)
  expect(created.headers.get('retry-after')).toBe('5')
  expect(created.headers.get('idempotency-replayed')).toBeNull()
  expect(created.headers.get('x-commit-position')).toMatch(/^\S+$/)
  expect(created.data).toEqual({
    id: expect.stringMatching(uuid),
    status: 'processing',
    patient_id: patientId,
    case_id: expect.stringMatching(uuid),
    external_reference: 'reference-1',
    images: ['dermoscopic', 'macroscopic', 'other'].map((capture_type) => ({
      id: expect.stringMatching(uuid),
      capture_type,
      status: 'received',
    })),
    result: null,
    error: null,
    next_poll_after_ms: 5000,
  })
})

test('the case of the assessment is open from the first answer on', async () => {
  const { data } = await client.request('GET', '/v1/clinical-api/cases/{id}', { params: { id: caseId } })
  const { product_id } = clientOf(platform.process, 0)
  expect(data).toMatchObject({
    id: caseId,
    patient_id: patientId,
    status: 'open',
    external_reference: 'reference-1',
    product_id,
  })
})

test('GET shows every stage in order', () => {
  expect(stages.filter((stage) => !stage.endsWith('none'))).toEqual([
    'processing, review pending',
    'processing, review in_progress',
    'processing, review awaiting_result',
    ...stages.filter((stage) => stage === 'processing, review completed'),
    expect.stringMatching(/^completed, review (awaiting_result|completed)$/),
  ])
})

test('the completed record has the result and the images as sent', async () => {
  expect(completed).toEqual({
    id: created.data.id,
    status: 'completed',
    patient_id: patientId,
    case_id: caseId,
    external_reference: 'reference-1',
    images: created.data.images.map(({ id, capture_type }) => ({
      id,
      capture_type,
      status: 'processed',
      download_url: expect.stringContaining('X-Amz-Signature='),
    })),
    result: {
      ai_provider: 'simulator',
      outcome: {
        malignancy_score: expect.any(Number),
        recommendation: expect.stringMatching(/^(no_action|routine_follow_up|refer|urgent_referral|inconclusive)$/),
        score_basis: expect.any(String),
        scoring_version: '1',
        lesions: expect.any(Array),
        image_quality: created.data.images.map(({ id }) => ({ image_id: id, quality: 'IMAGE_QUALITY_SUITABLE' })),
      },
      completed_at: expect.stringMatching(instant),
    },
    error: null,
  })
  for (const [place, { bytes, entry }] of photographs.entries()) {
    const response = await fetch(completed.images[place]?.download_url ?? '')
    expect([response.status, response.headers.get('content-type')]).toEqual([200, entry.mime_type])
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
  }
})

test('the review contains images, result and lesions, and is in the lists of its case', async () => {
  const { id } = review
  const { product_id: productId, org_id: orgId } = clientOf(platform.process, 0)
  expect(review).toMatchObject({
    status: 'completed',
    caseId,
    productId,
    orgId,
    patientId,
    attemptCount: expect.any(Number),
    correlationId: expect.stringMatching(/./),
    providerVersion: '5.4.1-simulator',
    cancelReason: null,
    supersededById: null,
    supersededAt: null,
    error: null,
    errorClassification: null,
    completedAt: expect.stringMatching(instant),
    result: {
      aiReviewId: id,
      analysisResult: 'SUCCESSFUL_PROCESSING',
      analysisStatus: 'ANALYSIS_COMPLETED',
      processingType: 'DERMO_MACRO',
      sensitivitySet: 'BALANCED',
      reportDate: expect.stringMatching(instant),
    },
    images: photographs.map(({ sha256 }, place) => ({
      aiReviewId: id,
      clinicalImageId: created.data.images[place]?.id,
      imageType: place === 0 ? 'DERMOSCOPIC' : 'MACROSCOPIC',
      providerImageHash: sha256,
      imageQuality: 'IMAGE_QUALITY_SUITABLE',
    })),
  })
  const published = completed.result?.outcome.lesions ?? []
  const { images: _images, result, lesions, ...listed } = review
  expect(result?.lesionCount).toBe(lesions.length)
  expect(
    lesions.map((lesion) => [
      lesion.lesionNumber,
      lesion.category,
      lesion.suspectedDiagnosisIcd10Code,
      lesion.suspectedDiagnosisSnomedTerm,
    ]),
  ).toEqual(
    published.map(({ lesion_number, category, icd10, snomed }) => [lesion_number, category, icd10?.code, snomed?.term]),
  )
  expect(lesions.length).toBeGreaterThan(0)

  const found = async (params: {
    caseId?: string
    productId?: string
    status?: 'completed' | 'failed'
    limit?: number
  }) => (await client.request('GET', '/v1/ai-reviews', { params })).data
  for (const filter of [
    { caseId },
    { caseId: caseId.toUpperCase() },
    { productId: productId ?? '' },
    { status: 'completed' },
    { caseId, status: 'completed', limit: 999 },
  ] as const)
    expect(await found(filter)).toEqual({ data: [listed], nextCursor: null, hasMore: false })
  for (const filter of [{ status: 'failed' }, { caseId: id }, { productId: id }] as const)
    expect(await found(filter)).toEqual({ data: [], nextCursor: null, hasMore: false })
})

test('the provider got one case, each image once, one process, and a poll until it had the result', () => {
  expect(calls.map(({ call, status }) => `${call} ${status}`)).toEqual([
    'case 200',
    'image 200',
    'image 200',
    'image 200',
    'process 200',
    'result 200',
    'result 200',
    'result 200',
    'result 200',
  ])
  const { providerCaseId } = review
  expect(calls.find(({ call }) => call === 'case')).toMatchObject({
    caseId: providerCaseId,
    requestingSystem: 'clinical-assessment-platform',
  })
  const images = calls.filter(({ call }) => call === 'image')
  expect(images).toMatchObject(
    photographs.map(({ sha256 }, place) => ({
      caseId: providerCaseId,
      sha256,
      imageType: place === 0 ? 'DERMOSCOPIC' : 'MACROSCOPIC',
      correlationId: review.correlationId,
    })),
  )
  expect(images.map(({ imageId }) => imageId)).toEqual(review.images?.map(({ providerImageId }) => providerImageId))
  expect(calls.filter(({ call }) => call === 'result')).toMatchObject(
    Array.from({ length: 4 }, () => ({ caseId: providerCaseId, checksum: review.providerChecksum })),
  )
})

test('the webhook contains the record of the GET, signed as in Standard Webhooks', async () => {
  expect(webhook.headers).toMatchObject({
    'webhook-event-type': 'assessment.completed',
    'webhook-id': expect.stringMatching(uuid),
    'content-type': expect.stringMatching(/^application\/json/),
  })
  const secret = textAt(subscription.data, 'secret')
  const verified: unknown = new Webhook(secret).verify(webhook.body, { ...webhook.headers })
  expect(JSON.stringify(withoutSignatures(verified))).toBe(JSON.stringify(withoutSignatures(completed)))
  expect(() =>
    new Webhook(secret).verify(webhook.body.replace('completed', 'failed'), { ...webhook.headers }),
  ).toThrow()
  const download = await fetch(textAt(verified, 'images', 0, 'download_url'))
  expect(Buffer.from(await download.arrayBuffer()).equals(photographs[0]?.bytes ?? Buffer.alloc(0))).toBe(true)
})

test('the webhook continues the trace of the POST, although no spans are recorded', () => {
  const traceparent = created.headers.get('traceparent')
  expect(traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  expect(webhook.headers['traceparent']).toBe(traceparent)
})

test('a caller with the current version of a record does not get it again', async () => {
  const records = [
    ['/v1/clinical-api/patients/{id}', patientId],
    ['/v1/clinical-api/cases/{id}', caseId],
    ['/v1/clinical-api/assessments/{id}', created.data.id],
    ['/v1/clinical-api/webhook-subscriptions/{id}', subscription.data.id],
    ['/v1/ai-reviews/{id}', review.id],
  ] as const
  for (const [path, id] of records) {
    const read = (headers = {}) => client.request('GET', path, { params: { id }, headers })
    const etag = (await read()).headers.get('etag') ?? ''
    expect(etag).toMatch(/^"\d+(\.\d+)?"$/)
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`]) {
      const same = await read({ 'if-none-match': known })
      expect([path, same.status, same.data, same.headers.get('etag')]).toEqual([path, 304, undefined, etag])
    }
    expect((await read({ 'if-none-match': '"x"' })).status).toBe(200)
  }
  expect(etags.length).toBeGreaterThan(1)
  expect(new Set(etags).size).toBe(etags.length)
})

test('a finished assessment does not change', async () => {
  await sleep(1000)
  const { id } = created.data
  expect(webhooksAbout(receiver, id)).toHaveLength(1)
  expect(await platform.provider.caseCalls()).toEqual(calls)
  const { data } = await client.request('GET', '/v1/clinical-api/assessments/{id}', { params: { id } })
  expect(withoutSignatures(data)).toEqual(withoutSignatures(completed))
})

test('without a policy no completed review has a task; the service has two mounts and no bare one', async () => {
  for (const mount of ['/v1/human-review', '/v1/human-review/v1'])
    expect(at((await expecting(200, api.call(`${mount}/tasks`))).body, 'data')).toEqual([])
  expect((await api.call('/v1/tasks')).status).toBe(404)
  expect(completed).not.toHaveProperty('review')
})

test('the decision of a human review changes only `review`, and goes to the subscriptions that name it', async () => {
  const { org_id: orgId, product_id: productId } = platform.process.credentials
  const permissions = ['human-review:admin', 'human-review:decide']
  const headers = { 'x-actor-context': actorContext(orgId, permissions, undefined, [productId]) }
  await client.request('PUT', '/v1/human-review/policy', { body: { rules: [{ always: true }] }, headers })
  const { data: naming } = await client.request('POST', '/v1/clinical-api/webhook-subscriptions', {
    body: { url: `${receiver.url}/decisions`, event_types: ['assessment.reviewed'] },
  })

  const id = await requestAssessment(api, assessmentBody(patientId, [await photograph()]))
  const read = () => client.request('GET', '/v1/clinical-api/assessments/{id}', { params: { id } })
  const open = await waitFor('the open review', async () => {
    const answer = await read()
    return answer.data.review === undefined ? undefined : answer
  })
  expect(open.data).toMatchObject({
    status: 'completed',
    review: { status: 'open', decided_at: null, agrees_with_ai: null },
  })
  const asked = { params: { assessment_id: id }, headers }
  const { data: tasks } = await client.request('GET', '/v1/human-review/tasks', asked)
  const params = { id: textAt(tasks, 'data', 0, 'id') }
  const { lesions: found } = await reviewOfCase(api, textAt(open.data, 'case_id'))
  await client.request('POST', '/v1/human-review/tasks/{id}/claim', { params, headers })
  const lesions = found.map(({ lesionNumber }) => ({ lesion_number: lesionNumber, outcome: 'confirm' as const }))
  const { data: task } = await client.request('POST', '/v1/human-review/tasks/{id}/decide', {
    params,
    body: { lesions, recommendation: 'no_action' },
    headers,
  })

  const decisionWebhook = await waitFor('the webhook about the decision', () =>
    webhooksAbout(receiver, id).find((one) => one.headers['webhook-event-type'] === 'assessment.reviewed'),
  )
  const after = await read()
  const review = { status: 'decided', decided_at: task.decided_at, agrees_with_ai: true }
  expect(withoutSignatures(after.data)).toEqual({ ...Object(withoutSignatures(open.data)), review })
  expect(after.headers.get('etag')).not.toBe(open.headers.get('etag'))
  const verified: unknown = new Webhook(textAt(naming, 'secret')).verify(decisionWebhook.body, {
    ...decisionWebhook.headers,
  })
  const named = { task_id: task.id, ai_review_id: task.ai_review_id }
  expect(JSON.stringify(withoutSignatures(verified))).toBe(
    JSON.stringify({ ...Object(withoutSignatures(after.data)), ...named }),
  )
  const types = webhooksAbout(receiver, id).map((one) => one.headers['webhook-event-type'])
  expect(types).toHaveLength(2)
  expect(types).toEqual(expect.arrayContaining(['assessment.completed', 'assessment.reviewed']))
})

test("the operator's command prints the timeline of the patient, with an actor for each event", async () => {
  const env = { PLATFORM_DATA_DIR: platform.dataDir }
  const timeline = (...more: readonly string[]) => ['audit', 'timeline', '--patient', patientId, ...more]
  const program = (args: readonly string[]) => runProgram([process.execPath, 'app/main.ts', ...args], env)
  const [text, unknown] = [program(timeline()), program(timeline('--patient', '0190b0a0-0000-7000-8000-000000000001'))]
  expect(await text.exited).toBe(0)
  const lines = text.output().trimEnd().split('\n')
  expect(lines.filter((line) => line.includes('  PatientRegistered  client '))).toHaveLength(1)
  expect(lines.filter((line) => line.includes('  AiReviewCompleted  process ai_review  '))).not.toEqual([])
  expect(lines.filter((line) => line.includes('  WebhookDelivered  process webhooks  '))).not.toEqual([])
  expect(text.output()).not.toContain('A-1')
  expect(await unknown.exited).toBe(2)
  expect(unknown.output()).toBe('platform: nothing is known of patient 0190b0a0-0000-7000-8000-000000000001\n')

  const opened = await readCommand(timeline('--with-phi', '--json'))
  if (opened.name !== 'audit') throw new Error('another command')
  const items: unknown[] = []
  await runAudit(opened.order, env, (line) => items.push(JSON.parse(line)), expect.unreachable)
  expect(
    items.filter((item) => at(item, 'actor', 'kind') === 'process' && at(item, 'actor', 'process') === null),
  ).toEqual([])
  expect(items.find((item) => at(item, 'type') === 'PatientRegistered')).toMatchObject({
    data: { person: { identifiers: [{ scheme: 'mrn', value: 'A-1' }] } },
  })
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toContain('createAssessment 202')
  expect(await watched.undocumented()).toEqual([])
})

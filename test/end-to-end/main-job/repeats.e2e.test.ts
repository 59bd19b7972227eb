import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { sendUntilAnswered, type ApiAnswer, type ApiClient } from '../../support/raw-api.ts'
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
  reviewOfCase,
  subscribeToEnds,
  webhookAbout,
  webhooksAbout,
  withoutSignatures,
  type ConsentTerms,
  type Photograph,
} from '../../support/main-job.ts'
import { clientOf, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

const assessments = '/v1/clinical-api/assessments'
const mounts = ['/v1/clinical-api', '/v1/clinical-api/v1', '/v1']

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let terms: ConsentTerms
let receiver: WebhookReceiver
let patientId: string
/** A patient whose assessments fail without a provider call. */
let withoutConsent: string
let photo: Photograph

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  terms = await createConsentTerms(api, platform.process.credentials.org_id)
  receiver = await startWebhookReceiver()
  await subscribeToEnds(api, receiver)
  patientId = await consentedPatient(api, terms)
  withoutConsent = await registerPatient(api)
  photo = await photograph()
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

function keyed(path: string, body: unknown, key: string, client = api): Promise<ApiAnswer> {
  return client.call(path, { body, headers: { 'idempotency-key': key } })
}

function codeOf({ status, body }: ApiAnswer): readonly unknown[] {
  return [status, at(body, 'code')]
}

test('a repeated key returns the existing record, at every stage and under any token', async () => {
  const body = assessmentBody(patientId, [photo])
  await platform.provider.fault({ call: 'case', delay_ms: 700 })
  const first = await expecting(202, keyed(assessments, body, 'key-1'))
  const again = await expecting(202, keyed(assessments, body, 'key-1'))
  expect(again.body).toEqual(first.body)
  expect([first, again].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true'])
  expect(again.headers.get('location')).toBe(first.headers.get('location'))
  // A repeat also returns the position for reads, because the next read may go to an instance that is behind.
  expect(again.headers.get('x-commit-position')).toMatch(/^\S+$/)

  const reordered = Object.fromEntries(Object.entries(body).toReversed())
  expect((await expecting(202, keyed(assessments, reordered, '"key-1"'))).body).toEqual(first.body)

  const ended = await endOf(api, textAt(first.body, 'id'))
  const renewed = watched.watch(await platform.connect())
  const later = await expecting(202, keyed(assessments, body, 'key-1', renewed))
  expect(withoutSignatures(later.body)).toEqual(withoutSignatures(ended))
  expect(later.headers.get('idempotency-replayed')).toBe('true')

  // The three mounts give equal answers and share the scope of a key.
  const id = textAt(first.body, 'id')
  for (const mount of mounts) {
    const mounted = await expecting(202, keyed(`${mount}/assessments`, body, 'key-1'))
    expect([
      at(mounted.body, 'id'),
      mounted.headers.get('location'),
      mounted.headers.get('idempotency-replayed'),
    ]).toEqual([id, `${assessments}/${id}`, 'true'])
    expect(mounted.headers.has('x-commit-position')).toBe(true)
    expect(codeOf(await keyed(`${mount}/assessments`, { ...body, external_reference: 'x' }, 'key-1'))).toEqual([
      409,
      'idempotency-key-reused',
    ])
    const { body: read } = await expecting(200, api.call(`${mount}/assessments/${id}`))
    expect(withoutSignatures(read)).toEqual(withoutSignatures(ended))
  }
})

test('a key does not keep a refusal, and with another request it is refused and keeps its first one', async () => {
  const body = assessmentBody(withoutConsent, [photo])
  expect(codeOf(await keyed(assessments, { ...body, finding: { finding_type: 'wart' } }, 'key-2'))).toEqual([
    400,
    'validation-failed',
  ])
  expect(
    codeOf(await keyed(assessments, { ...body, patient_id: '0190b0a0-0000-7000-8000-000000000001' }, 'key-2')),
  ).toEqual([404, 'patient-not-found'])
  const first = await expecting(202, keyed(assessments, body, 'key-2'))
  const others = [
    { ...body, external_reference: 'another' },
    { ...body, images: [(await photograph()).entry] },
    { ...body, patient_id: '0190b0a0-0000-7000-8000-000000000001' },
  ]
  for (const other of others)
    expect(codeOf(await keyed(assessments, other, 'key-2'))).toEqual([409, 'idempotency-key-reused'])
  expect(at((await expecting(202, keyed(assessments, body, 'key-2'))).body, 'id')).toBe(at(first.body, 'id'))

  // Without a key, or with a fresh one, the same request is another assessment.
  const made = [first, await api.call(assessments, { body }), await keyed(assessments, body, 'key-3')]
  expect(made.map(({ status }) => status)).toEqual([202, 202, 202])
  expect(new Set(made.map((answer) => at(answer.body, 'id'))).size).toBe(3)
})

test('a key is scoped to its route and its organisation', async () => {
  const patient = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' }
  const made = await expecting(202, keyed(assessments, assessmentBody(withoutConsent, [photo]), 'key-5'))
  const other = await expecting(201, keyed('/v1/clinical-api/patients', patient, 'key-5'))
  const opened = await expecting(201, keyed('/v1/clinical-api/cases', { patient_id: withoutConsent }, 'key-5'))
  expect(new Set([made, other, opened].map(({ body }) => at(body, 'id'))).size).toBe(3)

  const [, second] = platform.process.credentials.clients
  const stranger = watched.watch(await platform.connect(second))
  const theirs = await expecting(201, keyed('/v1/clinical-api/patients', patient, 'key-5', stranger))
  expect(at(theirs.body, 'id')).not.toBe(at(other.body, 'id'))
  expect(theirs.headers.get('idempotency-replayed')).toBeNull()
})

test('twenty requests with one key at once, through all mounts and two tokens, make one assessment, one review, one provider case and one webhook', async () => {
  await platform.provider.reset()
  const sent = await photograph()
  const body = assessmentBody(patientId, [sent])
  const renewed = watched.watch(await platform.connect())
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, place) =>
      sendUntilAnswered(() =>
        keyed(`${mounts[place % mounts.length]}/assessments`, body, 'key-20', place % 2 === 0 ? api : renewed),
      ),
    ),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
  const ids = new Set(answers.map((answer) => textAt(answer.body, 'id')))
  expect(ids.size).toBe(1)
  expect(new Set(answers.map((answer) => textAt(answer.body, 'case_id'))).size).toBe(1)
  expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1)

  const [id = ''] = ids
  const ended = await endOf(api, id)
  expect(at(ended, 'status')).toBe('completed')
  const reviews = await expecting(200, api.call(`/v1/ai-reviews?caseId=${textAt(ended, 'case_id')}`))
  expect(at(reviews.body, 'data')).toHaveLength(1)
  await webhookAbout(receiver, id)
  const calls = await platform.provider.calls()
  const providerCase = calls.find(({ sha256 }) => sha256 === sent.sha256)?.caseId
  expect(calls.filter(({ caseId }) => caseId === providerCase).map(({ call }) => call)).toEqual([
    'case',
    'image',
    'process',
    'result',
  ])
  expect(calls.filter(({ sha256 }) => sha256 === sent.sha256)).toHaveLength(1)
  // A whole run of a later assessment gives enough time for a wrong second webhook.
  const next = await expecting(
    202,
    api.call(assessments, { body: assessmentBody(withoutConsent, [await photograph()]) }),
  )
  await webhookAbout(receiver, textAt(next.body, 'id'))
  expect(webhooksAbout(receiver, id)).toHaveLength(1)
})

test.each(['patients', 'cases', 'webhook-subscriptions'])(
  'POST %s is repeatable too, twenty times at once',
  async (resource) => {
    const bodies: Readonly<Record<string, unknown>> = {
      patients: {
        given_name: 'Grace',
        family_name: 'Example',
        dob: '1990-01-01',
        identifiers: [{ scheme: 'mrn', value: 'repeatable' }],
      },
      cases: { patient_id: withoutConsent },
      'webhook-subscriptions': { url: `${receiver.url}/other`, event_types: ['assessment.failed'] },
    }
    const body = Object(bodies[resource]) as Record<string, unknown>
    const path = `/v1/clinical-api/${resource}`
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => sendUntilAnswered(() => keyed(path, body, `key-${resource}`))),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).toHaveLength(19)
    const other =
      resource === 'cases'
        ? { ...body, external_reference: 'another' }
        : resource === 'patients'
          ? { ...body, given_name: 'Ada' }
          : { ...body, description: 'another' }
    expect(codeOf(await keyed(path, other, `key-${resource}`))).toEqual([409, 'idempotency-key-reused'])
  },
)

test('POST consents is repeatable too, twenty times at once', async () => {
  const path = `/v1/patients/${await registerPatient(api)}/consents`
  const body = { ...terms, decision: 'granted' }
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => sendUntilAnswered(() => keyed(path, body, 'key-consent'))),
  )
  expect(countsOf(answers)).toEqual({ 201: 20 })
  expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1)
  expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1)
  expect(codeOf(await keyed(path, { ...body, decision: 'denied' }, 'key-consent'))).toEqual([
    409,
    'idempotency-key-reused',
  ])
})

function countsOf(answers: readonly ApiAnswer[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...Map.groupBy(answers, ({ status }) => status)].map(([status, alike]) => [status, alike.length]),
  )
}

function inlinePatient(value: string): Readonly<Record<string, unknown>> {
  return { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29', identifiers: [{ scheme: 'mrn', value }] }
}

test.each([
  { what: 'with one key', keyOf: () => 'key-inline', distinct: 1 },
  { what: 'without a key', keyOf: () => undefined, distinct: 5 },
])('five requests $what at once with the same new patient register one patient', async ({ what, keyOf, distinct }) => {
  const body = {
    patient: inlinePatient(what),
    finding: { finding_type: 'rash' },
    images: [photo.entry],
  }
  const key = keyOf()
  const headers = key === undefined ? {} : { 'idempotency-key': key }
  const answers = await Promise.all(Array.from({ length: 5 }, () => api.call(assessments, { body, headers })))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202))
  expect(new Set(answers.map((answer) => at(answer.body, 'id'))).size).toBe(distinct)
  const [patientId, ...others] = new Set(answers.map((answer) => textAt(answer.body, 'patient_id')))
  expect(others).toEqual([])
  const { body: patient } = await expecting(200, api.call(`/v1/clinical-api/patients/${String(patientId)}`))
  expect(patient).toMatchObject(inlinePatient(what))
})

test('ten equal subscriptions at once are one, and the twenty-first is refused', async () => {
  const second = watched.watch(await platform.connect(clientOf(platform.process, 1)))
  const subscribe = (place: number) => {
    const body = { url: `http://127.0.0.1:1/${place}`, event_types: ['assessment.failed'] }
    return second.call('/v1/clinical-api/webhook-subscriptions', { body })
  }
  const equal = await Promise.all(Array.from({ length: 10 }, () => subscribe(0)))
  expect(countsOf(equal)).toEqual({ 200: 9, 201: 1 })
  expect(new Set(equal.map((answer) => at(answer.body, 'id'))).size).toBe(1)
  expect(equal.filter(({ body }) => at(body, 'secret') !== undefined).map(({ status }) => status)).toEqual([201])
  const rest = await Promise.all(Array.from({ length: 20 }, (_, place) => subscribe(place + 1)))
  expect(countsOf(rest)).toEqual({ 201: 19, 409: 1 })
  expect(codeOf(await subscribe(99))).toEqual([409, 'subscription-limit'])
})

test('twenty decisions at once are twenty records, and the latest of them counts', async () => {
  const patientId = await registerPatient(api)
  const path = `/v1/patients/${patientId}/consents`
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, place) =>
      api.call(path, { body: { ...terms, decision: place % 2 === 0 ? 'granted' : 'withdrawn' } }),
    ),
  )
  expect(made.map(({ status }) => status)).toEqual(made.map(() => 201))
  expect(new Set(made.map((answer) => at(answer.body, 'id'))).size).toBe(20)
  const last = await expecting(201, api.call(path, { body: { ...terms, decision: 'denied' } }))
  const { body } = await expecting(200, api.call(`${path}/ai_analysis/status`))
  expect(body).toMatchObject({ decision: 'denied', recorded_at: at(last.body, 'recorded_at') })
})

test('the three mounts of other services give equal answers', async () => {
  const headers = { prefer: 'wait=25' }
  const failed = await expecting(202, api.call(assessments, { body: assessmentBody(withoutConsent, [photo]), headers }))
  const caseId = textAt(failed.body, 'case_id')
  const review = await reviewOfCase(api, caseId)
  await expecting(200, api.call(`/v1/ai-reviews/${review.id}`, { headers }))
  const reads: Readonly<Record<string, readonly string[]>> = {
    'ai-review': [`/ai-reviews?caseId=${caseId}`],
    consent: [
      `/patients/${patientId}/consents/ai_analysis/status`,
      `/consent-records?patientId=${patientId}&consentTypeCode=ai_analysis`,
    ],
    auth: ['/.well-known/jwks.json'],
  }
  for (const [service, paths] of Object.entries(reads)) {
    for (const path of paths) {
      const answers = await Promise.all(
        [`/v1/${service}`, `/v1/${service}/v1`, '/v1'].map((mount) => api.call(mount + path)),
      )
      expect(answers.map(({ status, body: answer }) => [status, answer])).toEqual(
        Array.from({ length: 3 }, () => [200, answers[0]?.body]),
      )
    }
  }
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toContain('createAssessment 409')
  expect(await watched.undocumented()).toEqual([])
})

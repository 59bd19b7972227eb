import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { createApiClient, requestToken, type ApiClient } from '../../support/raw-api.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import { startInProcessPlatform, type InProcessPlatform } from '../../support/in-process-platform.ts'
import { assessmentBody, consentedPatient, endOf, expecting, photograph } from '../../support/main-job.ts'
import { waitFor } from '../../support/platform.ts'
import { eventsOf } from '../bad-days/recorded-events.ts'
import { startImageHost, type ImageHost } from '../main-job/image-host.ts'

let running: InProcessPlatform
let watched: WatchedPlatform
let api: ApiClient
let host: ImageHost
let patientId: string
const channel = 'clinic.events'
/** Reviews of the organisation at the same time. */
const places = 3
/** Trusted for one organisation, which is not that of the test. */
const foreignChannel = 'lab.events'

beforeAll(async () => {
  running = await startInProcessPlatform({
    FOREIGN_CHANNELS: `${channel},${foreignChannel}:${randomUUID()}`,
    PROVIDER_RESULT_MAX_ATTEMPTS: '1000',
    // Every review is counted and takes a place. No test reaches the budget.
    AI_REVIEW_MAX_CONCURRENT_PER_ORG: String(places),
    AI_REVIEW_DAILY_BUDGET_PER_ORG: '1000',
  })
  watched = watchPlatform(running.platform.credentials.base_url)
  api = watched.watch(running.api)
  patientId = await consentedPatient(running.api, running.terms)
  host = await startImageHost((await photograph()).bytes)
})
beforeEach(() => running.provider.reset())
afterAll(async () => {
  await host.close()
  await running.close()
})

const credentials = () => running.platform.credentials
const eventStoreUrl = () => credentials().eventstore_url ?? ''
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

function imageOf(changes: Readonly<Record<string, unknown>> = {}) {
  const address = { presignedUrl: host.address(), presignedUrlExpiresAt: inAnHour() }
  return { imageId: randomUUID(), imageType: 'DERMOSCOPIC', ...address, deviceModel: 'Scope 3', ...changes }
}

async function newCase(): Promise<string> {
  return textAt(
    (await expecting(201, api.call('/v1/clinical-api/cases', { body: { patient_id: patientId } }))).body,
    'id',
  )
}

/** POST /v1/ai-reviews for a case. */
function create(
  caseId: string,
  changes: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
) {
  return api.call('/v1/ai-reviews', { body: { caseId, images: [imageOf()], ...changes }, headers })
}

const created = async (caseId: string, changes: Readonly<Record<string, unknown>> = {}) =>
  textAt((await expecting(202, create(caseId, changes))).body, 'aiReviewId')

const reviewOnce = (id: string, status: string) =>
  waitFor(`review ${id} to be ${status}`, async () => {
    const { body } = await api.call(`/v1/ai-reviews/${id}`)
    return at(body, 'status') === status ? body : undefined
  })
const errorsOf = async (answer: ReturnType<typeof create>) => {
  const { status, body } = await answer
  return [status, at(body, 'code'), at(body, 'errors', 0, 'pointer')]
}
const statusesOf = async (caseId: string) => {
  const { body } = await expecting(200, api.call(`/v1/ai-reviews?caseId=${caseId}`))
  return (at(body, 'data') as unknown[]).map((review) => at(review, 'status'))
}

describe('POST /v1/ai-reviews', () => {
  test('202 for a new review, which completes without a request event; 200 for the one that holds the slot', async () => {
    const caseId = await newCase()
    const first = await expecting(202, create(caseId, { correlationId: 'visit-9', patientId }))
    const id = textAt(first.body, 'aiReviewId')
    expect(first.body).toEqual({ aiReviewId: id, status: 'pending' })
    expect(first.headers.get('location')).toBe(`/v1/ai-reviews/${id}`)
    const completed = await reviewOnce(id, 'completed')
    expect(completed).toMatchObject({
      caseId,
      productId: credentials().product_id,
      correlationId: 'visit-9',
      patientId,
    })
    const again = await expecting(200, create(caseId))
    expect(again.body).toEqual({ aiReviewId: id, status: 'completed' })
    expect(again.headers.get('location')).toBe(null)
    expect(again.headers.get('idempotency-replayed')).toBe(null)
    const published = (await eventsOf(eventStoreUrl(), 'ai_review.events')).filter(
      ({ data }) => at(data, 'caseId') === caseId,
    )
    expect(published.map(({ type }) => type)).toEqual(['ai_review.started', 'ai_review.completed'])
    expect(await running.provider.calls()).toContainEqual(
      expect.objectContaining({ call: 'image', deviceModel: 'Scope 3', correlationId: 'visit-9' }),
    )
  })

  test('supersede: true replaces the review; its successor holds the slot', async () => {
    const caseId = await newCase()
    const old = await created(caseId)
    const next = await created(caseId, { supersede: true })
    expect(await reviewOnce(old, 'superseded')).toMatchObject({ supersededById: next })
    expect((await expecting(200, create(caseId))).body).toMatchObject({ aiReviewId: next })
  })

  test('many requests that supersede at once leave one review that is not superseded', async () => {
    const caseId = await newCase()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => expecting(202, create(caseId, { supersede: true }))),
    )
    const made = new Set(answers.map(({ body }) => textAt(body, 'aiReviewId')))
    expect(made.size).toBe(8)
    await waitFor('seven superseded reviews', async () => {
      const superseded = (await statusesOf(caseId)).filter((status) => status === 'superseded')
      return superseded.length === 7 ? true : undefined
    })
    for (const id of made) {
      const stream = `ai_review-${credentials().org_id}-${id}`
      const types = (await eventsOf(eventStoreUrl(), stream)).map(({ type }) => type)
      expect(types[0]).toBe('AiReviewRequested')
    }
  })

  test('an Idempotency-Key fixes both answers; fresh addresses are the same request, another body is 409', async () => {
    const [caseId, otherCase] = [await newCase(), await newCase()]
    const key = { 'idempotency-key': randomUUID() }
    const image = imageOf()
    const fresh = () => ({ images: [{ ...image, presignedUrl: host.address(), presignedUrlExpiresAt: inAnHour() }] })
    const first = await expecting(202, create(caseId, fresh(), key))
    const repeat = await expecting(202, create(caseId, fresh(), key))
    expect(at(repeat.body, 'aiReviewId')).toBe(at(first.body, 'aiReviewId'))
    expect(repeat.headers.get('idempotency-replayed')).toBe('true')
    for (const other of [create(caseId, {}, key), create(otherCase, fresh(), key)])
      expect((await errorsOf(other)).slice(0, 2)).toEqual([409, 'idempotency-key-reused'])

    const second = { 'idempotency-key': randomUUID() }
    await expecting(200, create(caseId, fresh(), second))
    await created(caseId, { supersede: true })
    const known = await expecting(200, create(caseId, fresh(), second))
    expect(known.body).toMatchObject({ aiReviewId: at(first.body, 'aiReviewId'), status: 'superseded' })
    expect(known.headers.get('idempotency-replayed')).toBe('true')
  })

  test('concurrent repeats of one keyed request make one review', async () => {
    const caseId = await newCase()
    const key = { 'idempotency-key': randomUUID() }
    const images = [imageOf()]
    const answers = await Promise.all(Array.from({ length: 5 }, () => expecting(202, create(caseId, { images }, key))))
    expect(new Set(answers.map(({ body }) => at(body, 'aiReviewId'))).size).toBe(1)
  })

  test('refuses an unknown case, another patient, and images as a supersede does', async () => {
    const caseId = await newCase()
    expect(await errorsOf(create(randomUUID()))).toEqual([404, 'case-not-found', '/caseId'])
    const other = await consentedPatient(running.api, running.terms)
    expect(await errorsOf(create(caseId, { patientId: other }))).toEqual([400, 'validation-failed', '/patientId'])
    const image = imageOf()
    const wrong: readonly (readonly [string, readonly unknown[]])[] = [
      ['/images', []],
      ['/images/1/imageId', [image, image]],
      ['/images/0/presignedUrl', [imageOf({ presignedUrl: 'ftp://images.test/1' })]],
      ['/images/0/presignedUrlExpiresAt', [imageOf({ presignedUrlExpiresAt: '2020-01-01T00:00:00Z' })]],
    ]
    for (const [pointer, images] of wrong)
      expect(await errorsOf(create(caseId, { images }))).toEqual([400, 'validation-failed', pointer])
    expect(await statusesOf(caseId)).toEqual([])
  })

  test('needs a product, of the token or of the body, and the scope ai-review:create', async () => {
    const caseId = await newCase()
    const query = `?orgId=${credentials().org_id}`
    const service = await clientWith(['ai-review:create', 'ai-review:read'])
    const body = { caseId, images: [imageOf()] }
    expect((await errorsOf(service.call(`/v1/ai-reviews${query}`, { body }))).slice(0, 2)).toEqual([
      400,
      'product-required',
    ])
    await expecting(202, service.call(`/v1/ai-reviews${query}`, { body: { ...body, productId: randomUUID() } }))
    const reader = await clientWith(['ai-review:read'])
    expect((await errorsOf(reader.call(`/v1/ai-reviews${query}`, { body }))).slice(0, 2)).toEqual([
      403,
      'insufficient-scope',
    ])
  })
})

/** A client without an organisation. */
async function clientWith(scopes: readonly string[]): Promise<ApiClient> {
  return watched.watch(createApiClient(credentials().base_url, await tokenWith(scopes)))
}

async function tokenWith(scopes: readonly string[]): Promise<string> {
  const headers = {
    'x-admin-api-secret': credentials().admin_api_secret ?? '',
    'content-type': 'application/json',
  }
  const body = JSON.stringify({ name: 'auditor', scopes, org_id: null, trusted_actor_context: true })
  const { body: client } = await expecting(201, watched.send('/v1/auth/clients', { method: 'POST', headers, body }))
  const secrets = { client_id: textAt(client, 'client_id'), client_secret: textAt(client, 'client_secret') }
  const { body: granted } = await requestToken(credentials().base_url, secrets)
  return textAt(granted, 'access_token')
}

test('only a review of its own product ends an assessment', async () => {
  const photo = await photograph()
  await running.provider.result({ sha256: photo.sha256, not_ready_polls: 3 })
  const { body } = await expecting(
    202,
    api.call('/v1/clinical-api/assessments', { body: assessmentBody(patientId, [photo]) }),
  )
  const caseId = textAt(body, 'case_id')
  const other = await created(caseId, { productId: randomUUID() })
  await reviewOnce(other, 'completed')
  const end = await endOf(api, textAt(body, 'id'))
  expect(at(end, 'status')).toBe('completed')
  const own = await expecting(200, api.call(`/v1/ai-reviews?caseId=${caseId}&productId=${credentials().product_id}`))
  const facts = await eventsOf(eventStoreUrl(), `assessment-${credentials().org_id}-${textAt(body, 'id')}`)
  expect(facts.at(-1)?.data).toMatchObject({ aiReviewId: at(own.body, 'data', 0, 'id') })
})

test('the list is filtered by case, product and status, together and alone', async () => {
  const [caseId, productId] = [await newCase(), randomUUID()]
  const id = await created(caseId, { productId })
  await reviewOnce(id, 'completed')
  const idsOf = async (query: string) => {
    const { body } = await expecting(200, api.call(`/v1/ai-reviews?${query}`))
    return (at(body, 'data') as unknown[]).map((review) => at(review, 'id'))
  }
  expect(await idsOf(`caseId=${caseId}`)).toEqual([id])
  expect(await idsOf(`productId=${productId}`)).toEqual([id])
  expect(await idsOf(`caseId=${caseId}&productId=${productId}&status=completed`)).toEqual([id])
  expect(await idsOf(`caseId=${caseId}&status=failed`)).toEqual([])
  expect(await idsOf(`caseId=${caseId}&productId=${randomUUID()}`)).toEqual([])
  const { body: first } = await expecting(200, api.call('/v1/ai-reviews?limit=1&status=completed'))
  expect(at(first, 'hasMore')).toBe(true)
  await expecting(200, api.call(`/v1/ai-reviews?limit=1&status=completed&cursor=${textAt(first, 'nextCursor')}`))
})

describe('GET /v1/ai-reviews/{id}/raw', () => {
  const raw = (id: string) => `/v1/ai-reviews/${id}/raw?orgId=${credentials().org_id}`
  const readsOf = (id: string) => eventsOf(eventStoreUrl(), `ai_review_access-${credentials().org_id}-${id}`)

  test('returns the unchanged response of the provider, and records each read with its client and actor', async () => {
    const id = await created(await newCase())
    await reviewOnce(id, 'completed')
    const token = await tokenWith(['ai-review:read-raw'])
    const auditor = watched.watch(createApiClient(credentials().base_url, token))
    const { body, headers } = await expecting(200, auditor.call(raw(id)))
    expect(body).toMatchObject({ status: 'STATUS_PROCESSED', settings: expect.anything() })
    expect(headers.get('cache-control')).toBe('no-store')
    const userId = randomUUID()
    await expecting(
      200,
      auditor.call(raw(id), { headers: { 'x-actor-context': actorContext(credentials().org_id, [], userId) } }),
    )
    const reads = await readsOf(id)
    expect(reads.map(({ data }) => at(data, 'userId'))).toEqual([null, userId])
    expect(reads[0]?.data).toMatchObject({ aiReviewId: id, clientId: expect.any(String) })

    const head = { method: 'HEAD', headers: { authorization: `Bearer ${token}` } }
    expect((await fetch(`${credentials().base_url}${raw(id)}`, head)).status).toBe(200)
    await expecting(403, api.call(raw(id)))
    expect(await readsOf(id)).toHaveLength(2)
  })

  test('is 404 without a response, and 404 in another organisation', async () => {
    await running.provider.fault({ call: 'case', status: 400 })
    const id = await created(await newCase())
    await reviewOnce(id, 'failed')
    const auditor = await clientWith(['ai-review:read-raw'])
    expect((await errorsOf(auditor.call(raw(id)))).slice(0, 2)).toEqual([404, 'ai-review-result-missing'])
    await expecting(404, auditor.call(`/v1/ai-reviews/${id}/raw?orgId=${randomUUID()}`))
    expect(await readsOf(id)).toEqual([])
  })

  test('contains the response of a case that the provider processed without success', async () => {
    await running.provider.result({ sha256: '*', analysis_result: 'NOT_A_LESION' })
    const id = await created(await newCase())
    await reviewOnce(id, 'failed')
    const auditor = await clientWith(['ai-review:read-raw'])
    const { body } = await expecting(200, auditor.call(raw(id)))
    expect(body).toMatchObject({ analysisResult: 'NOT_A_LESION' })
  })

  test('is 410 after the erasure of the patient', async () => {
    const erased = await consentedPatient(running.api, running.terms)
    const { body } = await expecting(201, api.call('/v1/clinical-api/cases', { body: { patient_id: erased } }))
    const id = await created(textAt(body, 'id'))
    await reviewOnce(id, 'completed')
    await running.platform.vault.destroySubject(credentials().org_id, erased)
    const auditor = await clientWith(['ai-review:read-raw'])
    expect((await errorsOf(auditor.call(raw(id)))).slice(0, 2)).toEqual([410, 'subject-erased'])
    expect(await readsOf(id)).toEqual([])
  })
})

test('a request of another service becomes a review; a malformed one, and one about an organisation for which its channel is not trusted, are skipped and shown in /health', async () => {
  const caseId = await newCase()
  const clinic = EventStoreDBClient.connectionString(eventStoreUrl())
  const { org_id: orgId, product_id: productId } = credentials()
  const request = { caseId, productId, orgId, correlationId: 'clinic-17', requestedAt: new Date().toISOString() }
  const good = jsonEvent({ type: 'ai_review.requested', data: { ...request, images: [imageOf()], urgency: 'high' } })
  const bad = jsonEvent({ type: 'ai_review.requested', data: { ...request, images: [] } })
  const untrusted = { ...request, caseId: await newCase(), images: [imageOf()] }
  await clinic.appendToStream(foreignChannel, jsonEvent({ type: 'ai_review.requested', data: untrusted }))
  await clinic.appendToStream(channel, [bad, good])
  await clinic.dispose()
  const id = await waitFor('the review of the request', async () => {
    const { body } = await api.call(`/v1/ai-reviews?caseId=${caseId}`)
    const found = at(body, 'data', 0, 'id')
    return typeof found === 'string' ? found : undefined
  })
  expect(await reviewOnce(id, 'completed')).toMatchObject({ correlationId: 'clinic-17', patientId })
  const check = await waitFor('the rejected events in /health', async () => {
    const checks = at((await api.call('/health')).body, 'checks') as readonly unknown[]
    const found = checks.find((one) => at(one, 'name') === 'foreign_channels')
    return String(at(found, 'detail')).startsWith('rejected events of 7 days: 2.') ? found : undefined
  })
  const detail = 'rejected events of 7 days: 2. foreign-events rejected lists them'
  expect(check).toEqual({ name: 'foreign_channels', status: 'warning', detail })
  expect(await statusesOf(untrusted.caseId)).toEqual([])
})

test('a review within the limits gives its place back, and /health shows that nothing waits', async () => {
  const id = await created(await newCase())
  await reviewOnce(id, 'completed')
  const places = `ai_review_places-${credentials().org_id}-all`
  const ofReview = await waitFor('the release of its place', async () => {
    const events = await eventsOf(eventStoreUrl(), places)
    const own = events.filter(({ data }) => at(data, 'aiReviewId') === id).map(({ type }) => type)
    return own.includes('AiReviewPlaceReleased') ? own : undefined
  })
  expect(ofReview).toEqual(['AiReviewPlaceTaken', 'AiReviewPlaceReleased'])
  const { body } = await api.call('/health')
  expect(at(body, 'checks')).toContainEqual({ name: 'ai_review_guards', status: 'ok' })
})

test('beyond the number of places a review stays pending, and /health warns until it gets a place', async () => {
  const guards = () =>
    waitFor('the check of the limits', async () => {
      const checks = at((await api.call('/health')).body, 'checks') as readonly unknown[]
      return checks.find((one) => at(one, 'name') === 'ai_review_guards')
    })
  await running.provider.result({ sha256: '*', not_ready_polls: 1_000 })
  const reviews: string[] = []
  for (let place = 0; place < places; place += 1) {
    reviews.push(await created(await newCase()))
    await reviewOnce(reviews.at(-1) ?? '', 'awaiting_result')
  }
  const last = await created(await newCase())
  const warning = await waitFor('the warning', async () => {
    const check = await guards()
    return at(check, 'status') === 'warning' ? check : undefined
  })
  const detail = 'of at least one organisation: reviews wait for a place'
  expect(warning).toEqual({ name: 'ai_review_guards', status: 'warning', detail })
  expect(at((await api.call(`/v1/ai-reviews/${last}`)).body, 'status')).toBe('pending')
  await expecting(200, api.call(`/v1/ai-reviews/${reviews[0]}/cancel`, { method: 'POST' }))
  await reviewOnce(last, 'awaiting_result')
  await running.provider.reset()
  for (const id of [...reviews.slice(1), last]) await reviewOnce(id, 'completed')
  expect(await guards()).toEqual({ name: 'ai_review_guards', status: 'ok' })
})

test('every answer has its documented form', async () => {
  expect(await watched.undocumented()).toEqual([])
})

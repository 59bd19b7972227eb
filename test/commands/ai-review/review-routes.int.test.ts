import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { freePort } from '../../../embedded/children/free-port.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import { aiReviewAccesses } from '../../../streams/ai-review-access/aggregate.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { startImageHost } from '../../end-to-end/main-job/image-host.ts'
import { runReviewStep } from '../../processes/ai-review/review-steps.ts'
import { mortal } from '../../processes/users/mortal-process.ts'
import { caseFact, ids } from '../../streams/facts.ts'
import { contextOf, interrupted } from '../../engine/commands/decision-world.ts'
import { openReviewApi, refusalOf, scopesOfReviews, type Answer, type ReviewApi } from './review-api.ts'

/* Every row and every rule of section 4.5 of the interface specification, over HTTP. */

let api: ReviewApi
beforeAll(async () => {
  api = await openReviewApi()
})
afterAll(() => api.close())
beforeEach(() => api.world.reset())

async function completed(changes: object = {}): Promise<string> {
  const id = await api.requested(changes)
  for (let call = 0; call < 3; call += 1) await api.run('start', id)
  api.world.pass(5)
  await api.run('poll', id)
  return id
}

const idsIn = ({ body }: Answer) => (at(body, 'data') as readonly unknown[]).map((one) => at(one, 'id'))

test('4.5 row 1: POST /v1/ai-reviews answers 202 for a new review, and 200 for the active one', async () => {
  const body = {
    caseId: await api.newCase(),
    productId: ids.product,
    images: [await api.image()],
    correlationId: 'v-9',
  }
  const first = await api.post('', { body })
  const id = textAt(first.body, 'aiReviewId')
  expect([first.status, first.body]).toEqual([202, { aiReviewId: id, status: 'pending' }])
  expect(first.headers['location']).toBe(`/v1/ai-reviews/${id}`)
  const second = await api.post('', { body })
  expect([second.status, second.body]).toEqual([200, { aiReviewId: id, status: 'pending' }])
  expect(second.headers).not.toMatchObject({ location: expect.anything() })
  expect(second.headers).not.toMatchObject({ 'idempotency-replayed': expect.anything() })
  const third = await api.post('', { body: { ...body, supersede: true } })
  expect([third.status, at(third.body, 'aiReviewId') === id]).toEqual([202, false])
  expect(await api.review(id)).toMatchObject({ correlationId: 'v-9', status: 'superseded' })
})

test('4.5 row 1: the images have the members of the request event', async () => {
  const caseId = await api.newCase()
  const image = await api.image({ deviceManufacturer: 'Acme', deviceModel: 'Scope 3' })
  const refused = async (images: unknown) => refusalOf(await api.post('', { body: { caseId, images } }))
  expect(await refused([])).toBe('400 validation-failed /images')
  for (const member of ['imageId', 'imageType', 'presignedUrl', 'presignedUrlExpiresAt'])
    expect(await refused([{ ...image, [member]: undefined }])).toBe(`400 validation-failed /images/0/${member}`)
  expect(await refused([{ ...image, imageType: 'OTHER' }])).toBe('400 validation-failed /images/0/imageType')
  expect(await refused([{ ...image, zoom: 2 }])).toBe('400 validation-failed /images/0/zoom')
  const late = await api.image({ presignedUrlExpiresAt: api.world.now().toISOString() })
  expect(await refused([late])).toBe('400 validation-failed /images/0/presignedUrlExpiresAt')
  expect(await refused([{ ...image, presignedUrl: 'ftp://images.test/1' }])).toBe(
    '400 validation-failed /images/0/presignedUrl',
  )
  expect(await refused([image, image])).toBe('400 validation-failed /images/1/imageId')
  expect(idsIn(await api.get(`?caseId=${caseId}`))).toEqual([])
  const id = await completed({ caseId, images: [image], correlationId: 'visit-9' })
  expect(await api.published(id)).toEqual(['ai_review.started', 'ai_review.completed'])
  expect(await api.world.provider.calls()).toContainEqual(
    expect.objectContaining({
      call: 'image',
      deviceManufacturer: 'Acme',
      deviceModel: 'Scope 3',
      correlationId: 'visit-9',
    }),
  )
})

test('4.5 row 1: a request names a case of the organisation, its patient or none, and a product if the token has none', async () => {
  const [caseId, images] = [await api.newCase(), [await api.image()]]
  const refused = async (body: object, productId?: null) =>
    refusalOf(
      await api.post('', { body: { caseId, images, ...body }, ...(productId === undefined ? {} : { productId }) }),
    )
  expect(await refused({ caseId: randomUUID() })).toBe('404 case-not-found /caseId')
  expect(await refused({ patientId: randomUUID() })).toBe('400 validation-failed /patientId')
  expect(await refused({}, null)).toBe('400 product-required')
  expect(idsIn(await api.get(`?caseId=${caseId}`))).toEqual([])
  expect(await refused({ patientId: ids.patient })).toBe('202')
  expect(await refused({ productId: randomUUID() }, null)).toBe('202')
})

test('4.5 row 1: an Idempotency-Key fixes both answers; fresh addresses are the same request', async () => {
  const [caseId, otherCase, image] = [await api.newCase(), await api.newCase(), await api.image()]
  const send = async (key: string, ofCase = caseId, changes: object = {}) => {
    const { presignedUrl } = Object(await api.image())
    const body = { caseId: ofCase, images: [{ ...image, presignedUrl, ...changes }] }
    return api.post('', { body, headers: { 'idempotency-key': key } })
  }
  const [first, second] = [randomUUID(), randomUUID()]
  const made = await send(first)
  const aiReviewId = textAt(made.body, 'aiReviewId')
  const repeat = await send(first)
  expect([repeat.status, repeat.body, repeat.headers['idempotency-replayed']]).toEqual([202, made.body, 'true'])
  expect(refusalOf(await send(first, caseId, { imageId: randomUUID() }))).toBe('409 idempotency-key-reused')
  expect(refusalOf(await send(first, otherCase))).toBe('409 idempotency-key-reused')

  expect((await send(second)).status).toBe(200)
  await api.requested({ caseId, supersede: true })
  const known = await send(second)
  expect([known.status, known.body]).toEqual([200, { aiReviewId, status: 'superseded' }])
  expect(known.headers['idempotency-replayed']).toBe('true')
})

test('4.5 row 1: many requests that supersede at once leave one review that is not superseded', async () => {
  const body = { caseId: await api.newCase(), images: [await api.image()], supersede: true }
  const answers = await Promise.all(Array.from({ length: 8 }, () => api.post('', { body })))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202))
  const made = new Set(answers.map((answer) => textAt(answer.body, 'aiReviewId')))
  const { body: listed } = await api.get(`?caseId=${body.caseId}`)
  const reviews = at(listed, 'data') as readonly unknown[]
  expect(new Set(reviews.map((review) => at(review, 'id')))).toEqual(made)
  const statuses = reviews.map((review) => at(review, 'status'))
  expect(statuses.filter((status) => status === 'superseded')).toHaveLength(7)
  expect(statuses).toContain('pending')
})

test('4.5 row 2: GET /v1/ai-reviews/{id} returns review, result and lesions, and nothing raw', async () => {
  const id = await completed()
  const answer = await api.get(`/${id}`)
  expect([answer.status, answer.body]).toEqual([
    200,
    expect.objectContaining({
      id,
      status: 'completed',
      images: [expect.objectContaining({ aiReviewId: id, imageType: 'DERMOSCOPIC' })],
      result: expect.objectContaining({ aiReviewId: id, analysisResult: 'SUCCESSFUL_PROCESSING' }),
      lesions: expect.arrayContaining([expect.objectContaining({ lesionNumber: 1, coordinates: expect.anything() })]),
    }),
  ])
  const text = JSON.stringify(answer.body)
  for (const ofProvider of ['settings', 'regulatory', 'presignedUrl', 'X-Amz']) expect(text).not.toContain(ofProvider)
})

test('4.5 row 3: GET /v1/ai-reviews filters by case, product and status, with a cursor', async () => {
  const [caseId, productId] = [await api.newCase(), randomUUID()]
  const first = await api.requested({ caseId, productId })
  const second = await api.requested({ caseId, productId, supersede: true })
  const listed = async (query: string) => idsIn(await api.get(`?${query}`))
  expect(await listed(`caseId=${caseId}`)).toEqual([second, first])
  expect(await listed(`productId=${productId}&status=superseded`)).toEqual([first])
  expect(await listed(`caseId=${caseId}&status=completed`)).toEqual([])
  const page = await api.get(`?caseId=${caseId}&limit=1`)
  expect([idsIn(page), at(page.body, 'hasMore')]).toEqual([[second], true])
  const rest = await api.get(`?caseId=${caseId}&limit=1&cursor=${textAt(page.body, 'nextCursor')}`)
  expect([idsIn(rest), at(rest.body, 'hasMore'), at(rest.body, 'nextCursor')]).toEqual([[first], false, null])
})

test('4.5 row 4: GET /v1/ai-reviews/{id}/raw returns the response of the provider', async () => {
  const id = await completed()
  const raw = await api.get(`/${id}/raw`)
  expect([raw.status, raw.body]).toEqual([
    200,
    expect.objectContaining({ status: 'STATUS_PROCESSED', settings: expect.anything(), lesions: expect.any(Array) }),
  ])
  expect(refusalOf(await api.get(`/${await api.requested()}/raw`))).toBe('404 ai-review-result-missing')
})

const codesOfLesion = [
  'suspectedDiagnosisIcd10Code',
  'suspectedDiagnosisIcd10Term',
  'suspectedDiagnosisSnomedCode',
  'suspectedDiagnosisSnomedTerm',
  'referralFlag',
  'referralRecommendation',
  'referralRecommendationGuidance',
  'interpretationGuidance',
]
const listOf = (list: unknown) => list as readonly unknown[]
const picked = (from: unknown, names: readonly string[]) => names.map((name) => at(from, name) ?? null)

test('2.6: a review has the members of the specification, with the values of the response of the provider', async () => {
  const id = await completed()
  const [{ body: review }, { body: raw }] = [await api.get(`/${id}`), await api.get(`/${id}/raw`)]
  const ofResult = ['analysisResult', 'analysisStatus', 'lesionCount', 'processingType', 'sensitivitySet']
  expect(picked(at(review, 'result'), ofResult)).toEqual(picked(raw, ofResult))
  const reportDate = new Date(Number(at(raw, 'reportDate'))).toISOString()
  expect(at(review, 'result')).toMatchObject({ aiReviewId: id, reportDate, createdAt: expect.any(String) })
  expect(at(review, 'providerVersion')).toBe(at(raw, 'assessedByProviderVersion'))

  const ofLesion = ['lesionNumber', 'coordinates', 'classification', 'category', 'priority', ...codesOfLesion]
  const [lesions, given] = [listOf(at(review, 'lesions')), listOf(at(raw, 'lesions'))]
  expect(given.length).toBeGreaterThan(0)
  expect(lesions.map((lesion) => picked(lesion, ofLesion))).toEqual(given.map((lesion) => picked(lesion, ofLesion)))
  expect(lesions.map((lesion) => at(lesion, 'providerLesionId'))).toEqual(given.map((lesion) => at(lesion, 'lesionId')))
  const images = listOf(at(raw, 'images')).map((image) => ({
    aiReviewId: id,
    providerImageId: at(image, 'imageId'),
    providerImageHash: at(image, 'imageHash'),
    imageType: at(image, 'imageType'),
    imageQuality: at(image, 'imageQuality'),
  }))
  expect(at(review, 'images')).toEqual(images.map((image) => expect.objectContaining(image)))
})

test('6: the events of a review have the members of the specification', async () => {
  const ids = ['aiReviewId', 'caseId', 'productId', 'correlationId']
  const membersOf = async (id: string) => {
    const { type, data } = await api.lastPublished(id)
    return [type, Object.keys(data as object)]
  }
  const id = await api.startedBy(1)
  expect(await membersOf(id)).toEqual(['ai_review.started', expect.arrayContaining([...ids, 'startedAt'])])
  for (let call = 0; call < 2; call += 1) await api.run('start', id)
  api.world.pass(5)
  await api.run('poll', id)
  const ofResult = ['assessedByProviderVersion', 'reportDate', 'analysisResult', 'imageQuality', 'lesions']
  expect(await membersOf(id)).toEqual(['ai_review.completed', expect.arrayContaining([...ids, ...ofResult])])
  const { data } = await api.lastPublished(id)
  const ofLesion = ['lesionNumber', 'providerLesionId', 'coordinates', 'classification', 'category', 'priority']
  expect(Object.keys(Object(at(data, 'lesions', 0)))).toEqual(expect.arrayContaining([...ofLesion, ...codesOfLesion]))
  expect(at(data, 'imageQuality', 0)).toEqual({ imageId: expect.any(String), quality: 'IMAGE_QUALITY_SUITABLE' })

  await api.post(`/${id}/supersede`, { body: { reason: 'again', images: [await api.image()] } })
  const ofBoth = ['oldAiReviewId', 'newAiReviewId', 'caseId', 'productId', 'supersededAt', 'reason']
  expect(await membersOf(id)).toEqual(['ai_review.superseded', expect.arrayContaining(ofBoth)])
  const failed = await api.requested()
  api.world.services.consent = 'denied'
  await api.run('start', failed)
  const ofError = ['errorCode', 'errorClassification', 'errorMessage', 'retriable']
  expect(await membersOf(failed)).toEqual(['ai_review.failed', expect.arrayContaining([...ids, ...ofError])])
})

test('4.5 row 5: POST /v1/ai-reviews/{id}/supersede takes a reason and images with fresh addresses', async () => {
  const id = await api.requested()
  const path = `/${id}/supersede`
  const image = await api.image()
  expect(refusalOf(await api.post(path, { body: { reason: 'x' } }))).toBe('400 validation-failed /images')
  expect(refusalOf(await api.post(path, { body: { images: [] } }))).toBe('400 validation-failed /images')
  const tooLong = { reason: 'x'.repeat(501), images: [image] }
  expect(refusalOf(await api.post(path, { body: tooLong }))).toBe('400 validation-failed /reason')
  const late = await api.image({ presignedUrlExpiresAt: api.world.now().toISOString() })
  expect(refusalOf(await api.post(path, { body: { images: [late] } }))).toBe(
    '400 validation-failed /images/0/presignedUrlExpiresAt',
  )
  const made = await api.post(path, { body: { reason: 'new photographs', images: [image] } })
  const aiReviewId = textAt(made.body, 'aiReviewId')
  expect([made.status, made.body]).toEqual([202, { aiReviewId, status: 'pending', supersededAiReviewId: id }])
  expect((await api.lastPublished(id)).data).toMatchObject({
    oldAiReviewId: id,
    newAiReviewId: aiReviewId,
    reason: 'new photographs',
  })
})

test('4.5 row 6: POST /v1/ai-reviews/{id}/cancel answers a repeat like the first request', async () => {
  const id = await api.requested()
  for (let time = 0; time < 2; time += 1) {
    const answer = await api.post(`/${id}/cancel`)
    expect([answer.status, answer.body]).toEqual([200, { aiReviewId: id, status: 'cancelled' }])
  }
  expect(await api.published(id)).toEqual(['ai_review.cancelled'])
})

test('4.5 row 7: GET /health and /metrics are public', async () => {
  const { app } = await api.startRoutes(api.world.store)
  for (const base of ['', '/v1/ai-review', '/v1/ai-review/v1'])
    for (const path of ['/health', '/metrics'])
      expect([base, path, (await app.inject({ url: `${base}${path}` })).statusCode]).toEqual([base, path, 200])
})

test.each([
  ['1', 'POST', '', 'ai-review:create', 202],
  ['2', 'GET', '/{id}', 'ai-review:read', 200],
  ['3', 'GET', '', 'ai-review:read', 200],
  ['4', 'GET', '/{id}/raw', 'ai-review:read-raw', 200],
  ['5', 'POST', '/{id}/supersede', 'ai-review:supersede', 202],
  ['6', 'POST', '/{id}/cancel', 'ai-review:cancel', 409],
] as const)('4.5 row %s: %s %s needs the scope %s', async (_, method, path, scope, status) => {
  const url = path.replace('{id}', await completed())
  const images = [await api.image()]
  const body = path === '' ? { caseId: await api.newCase(), images } : { images }
  const sent = path.endsWith('cancel') ? {} : { body }
  const ask = (scopes: readonly string[]) =>
    method === 'GET' ? api.get(url, { scopes }) : api.post(url, { ...sent, scopes })
  expect(refusalOf(await ask(scopesOfReviews.filter((one) => one !== scope)))).toBe('403 insufficient-scope')
  expect((await ask([scope])).status).toBe(status)
})

test('4.5 rule 1: a request event for a taken slot is answered with its review, and enqueues nothing', async () => {
  const caseId = await api.newCase()
  const id = await api.requested({ caseId })
  expect(await api.requestedByEvent(caseId)).toBe(id)
  expect(idsIn(await api.get(`?caseId=${caseId}`))).toEqual([id])
})

test('4.5 rule 1: of many requests at once one makes the review', async () => {
  const body = { caseId: await api.newCase(), images: [await api.image()] }
  const answers = await Promise.all(Array.from({ length: 8 }, () => api.post('', { body })))
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(1)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(7)
  expect(new Set(answers.map((answer) => at(answer.body, 'aiReviewId'))).size).toBe(1)
})

test('4.5: a request event makes a review with the members of the event', async () => {
  const id = await api.requestedByEvent(await api.newCase())
  for (let call = 0; call < 3; call += 1) await api.run('start', id)
  expect(await api.review(id)).toMatchObject({
    status: 'awaiting_result',
    productId: ids.product,
    correlationId: 'clinic-17',
    patientId: ids.patient,
    images: [{ clinicalImageId: ids.image, imageType: 'DERMOSCOPIC' }],
  })
  expect(await api.world.provider.calls()).toContainEqual(
    expect.objectContaining({ call: 'image', deviceManufacturer: 'Acme', deviceModel: 'Scope 3' }),
  )
})

test('4.5 rule 2: the start job checks consent before each call, and makes the calls in their order', async () => {
  const id = await api.requested()
  let checks = 0
  api.world.services.before = (route) => void (checks += route === 'GET /v1/consent-records' ? 1 : 0)
  for (let call = 1; call <= 3; call += 1) {
    await api.run('start', id)
    expect(checks).toBe(call)
  }
  expect(await api.calls()).toEqual(['case 200', 'image 200', 'process 200'])
  expect(await api.run('start', id)).toEqual({ kind: 'done' })
  expect(at(await api.review(id), 'status')).toBe('awaiting_result')
})

test('4.5 rule 3: the poll job stops for a review that awaits no result', async () => {
  for (const id of [await api.startedBy(1), await api.startedBy(3)]) {
    await api.post(`/${id}/cancel`)
    api.world.pass(5)
    expect(await api.run('poll', id)).toEqual({ kind: 'done' })
  }
  expect((await api.calls()).filter((call) => call.startsWith('result'))).toEqual([])
})

test('4.5 rule 4: one session serves many calls until its lifetime ends', async () => {
  const deps = api.world.rewired({ providerSessionTtlSeconds: 60 })
  const logins = async () => (await api.world.provider.calls()).filter(({ call }) => call === 'login').length
  const id = await api.requested()
  await api.run('start', id, { deps })
  await api.run('start', id, { deps })
  expect(await logins()).toBe(1)
  api.world.pass(61)
  await api.run('start', id, { deps })
  expect(await logins()).toBe(2)
})

test('4.5 rule 5: the service stores no bytes of an image', async () => {
  const bytes = randomBytes(4_000)
  const host = await startImageHost(bytes)
  const { objects } = api.world.deps
  try {
    const id = await api.requested({ images: [await api.image({ presignedUrl: host.address() })] })
    for (let call = 0; call < 3; call += 1) await api.run('start', id)
    api.world.pass(5)
    await api.run('poll', id)
    expect(at(await api.review(id), 'status')).toBe('completed')
    for await (const { key } of objects.list(''))
      expect(Buffer.from(await objects.get(key)).includes(bytes.subarray(0, 64))).toBe(false)
  } finally {
    await host.close()
  }
})

test('each read of the raw response is recorded with its client and actor, except a HEAD and a refused one', async () => {
  const id = await completed()
  const { otherStore, orgId } = api.world
  const reads = async () => {
    const { stream } = aiReviewAccesses.of(orgId, id)
    const found: unknown[] = []
    for await (const { data } of otherStore.readStream(stream)) found.push(data)
    return found
  }
  const userId = randomUUID()
  const scopes = ['ai-review:read-raw']
  const answer = await api.get(`/${id}/raw`, { scopes })
  expect([answer.status, answer.headers['cache-control']]).toEqual([200, 'no-store'])
  const headers = { 'x-actor-context': actorContext(orgId, [], userId) }
  expect((await api.get(`/${id}/raw`, { scopes, headers })).status).toBe(200)
  expect(await reads()).toMatchObject([
    { aiReviewId: id, clientId: expect.any(String), userId: null },
    { aiReviewId: id, userId },
  ])
  expect((await api.head(`/${id}/raw`, { scopes })).status).toBe(200)
  expect(refusalOf(await api.get(`/${id}/raw`, { scopes: ['ai-review:read'] }))).toBe('403 insufficient-scope')
  expect(refusalOf(await api.get(`/${id}/raw`, { scopes, orgId: randomUUID() }))).toBe('404 not-found')
  expect(await reads()).toHaveLength(2)
})

test('the raw response is 503 while the object store is away, and the read is not recorded', async () => {
  const id = await completed()
  const { store, otherStore, orgId } = api.world
  const bucket = { region: 'us-east-1', bucket: 'images', accessKeyId: 'a', secretAccessKey: 'b' }
  const away = connectObjectStore({ ...bucket, endpoint: `http://127.0.0.1:${await freePort()}`, now: api.world.now })
  const through = await api.startRoutes(store, {}, away)
  expect(refusalOf(await api.get(`/${id}/raw`, { through }))).toBe('503 object-store-unavailable')
  const documented = at(through.app.swagger(), 'paths', '/v1/ai-reviews/{id}/raw', 'get', 'responses', '503')
  expect(at(documented, 'description')).toContain('object-store-unavailable')
  expect(await otherStore.load(aiReviewAccesses.of(orgId, id))).toMatchObject({ revision: 'no_stream' })
  away.close()
})

test('the raw response is 410 after the erasure of the patient', async () => {
  const patientId = randomUUID()
  api.world.services.patientId = patientId
  const id = await completed({ caseId: await api.newCase(patientId) })
  const { vault, orgId, otherStore } = api.world
  await vault.destroySubject(orgId, patientId)
  expect(refusalOf(await api.get(`/${id}/raw`))).toBe('410 subject-erased')
  expect(await otherStore.readLast(aiReviewAccesses.of(orgId, id).stream)).toBeUndefined()
})

test('an answer with a review that exists is 410 after the erasure of the patient, as one with a new review is', async () => {
  const patientId = randomUUID()
  api.world.services.patientId = patientId
  const body = { caseId: await api.newCase(patientId), images: [await api.image()] }
  const id = textAt((await api.post('', { body })).body, 'aiReviewId')
  const headers = { 'idempotency-key': randomUUID() }
  const supersede = () => api.post(`/${id}/supersede`, { body: { images: body.images }, headers })
  expect((await supersede()).status).toBe(202)
  api.world.vault.closeSubject(api.world.orgId, patientId)
  expect(refusalOf(await api.post('', { body }))).toBe('410 subject-erased')
  expect(refusalOf(await api.post('', { body, headers: { 'idempotency-key': randomUUID() } }))).toBe(
    '410 subject-erased',
  )
  expect(refusalOf(await supersede())).toBe('410 subject-erased')
})

test('the raw response is sent only after its read is recorded', async () => {
  const id = await completed()
  const { otherStore, orgId, store } = api.world
  const reads = async () => (await otherStore.readLast(aiReviewAccesses.of(orgId, id).stream))?.revision
  const full = async () => {
    throw new Error('no room')
  }
  const through = await api.startRoutes(interrupted(store, 'ai_review_access', full))
  const refused = await api.get(`/${id}/raw`, { through })
  expect([refused.status, at(refused.body, 'lesions'), await reads()]).toEqual([500, undefined, undefined])
  expect([(await api.get(`/${id}/raw`, { through })).status, await reads()]).toEqual([200, 0n])
})

describe('a budget of one review a day', () => {
  const limits = { aiReviewDailyBudgetPerOrg: 1 }
  /** Each test has a day of its own. */
  beforeEach(() => api.world.pass(86_400))
  const budgeted = () => api.world.rewired(limits)
  const asked = async () => {
    const body = { caseId: await api.newCase(), images: [await api.image()] }
    return refusalOf(await api.post('', { body, through: await api.startRoutes(api.world.store, limits) }))
  }

  test.each([
    ['cancelled', (id: string) => api.post(`/${id}/cancel`)],
    ['superseded', async (id: string) => api.post(`/${id}/supersede`, { body: { images: [await api.image()] } })],
  ] as const)('counts a review of an event that is %s before its start', async (status, end) => {
    const id = await api.requestedByEvent(await api.newCase(), { deps: budgeted() })
    await end(id)
    expect(at(await api.review(id), 'status')).toBe(status)
    expect(await asked()).toBe('429 budget-exceeded')
  })

  test('fails a review of an event beyond it as budget_exceeded, retriable, without a provider call', async () => {
    expect(await asked()).toBe('202')
    const id = await api.requestedByEvent(await api.newCase(), { deps: budgeted() })
    expect(at(await api.review(id), 'status')).toBe('pending')
    await api.run('start', id, { deps: budgeted() })
    expect(await api.review(id)).toMatchObject({ status: 'failed', errorClassification: 'budget_exceeded' })
    const data = { errorClassification: 'budget_exceeded', retriable: true }
    expect(await api.lastPublished(id)).toMatchObject({ type: 'ai_review.failed', data })
    expect(await api.calls()).toEqual([])
  })

  test('keeps the unit of a review that takes its slot before midnight and starts after it in the first day', async () => {
    const tomorrow = Date.parse(`${api.world.now().toISOString().slice(0, 10)}T00:00:00.000Z`) + 86_400_000
    api.world.pass((tomorrow - api.world.now().getTime()) / 1000 - 1)
    const id = await api.requestedByEvent(await api.newCase(), { deps: budgeted() })
    expect(await asked()).toBe('429 budget-exceeded')
    api.world.pass(2)
    await api.run('start', id, { deps: budgeted() })
    expect(at(await api.review(id), 'status')).toBe('in_progress')
    expect(await asked()).toBe('202')
  })
})

test('beyond AI_REVIEW_MAX_CONCURRENT_PER_ORG reviews stay pending, and the oldest starts at the end of another', async () => {
  const deps = api.world.rewired({ aiReviewMaxConcurrentPerOrg: 1 })
  const waiting: string[] = []
  for (let count = 0; count < 3; count += 1) {
    waiting.push(await api.requested())
    api.world.pass(1)
  }
  const [first = '', second = '', third = ''] = waiting
  for (const id of [first, third, second]) await api.run('start', id, { deps })
  const statuses = async () => (await Promise.all(waiting.map((id) => api.review(id)))).map((one) => at(one, 'status'))
  expect(await statuses()).toEqual(['in_progress', 'pending', 'pending'])
  await api.post(`/${first}/cancel`)
  await runReviewStep(api.world, 'release', first, { deps })
  for (const id of [second, third]) await api.run('start', id, { deps })
  expect(await statuses()).toEqual(['cancelled', 'in_progress', 'pending'])
  expect(await api.calls()).toEqual(['case 200', 'case 200'])
})

test('a closed case takes no new review, by POST or by supersede', async () => {
  const caseId = await api.newCase()
  const id = await api.requested({ caseId })
  const { store, orgId } = api.world
  await store.append(cases.of(orgId, caseId), 0n, [caseFact('CaseClosed', { caseId })], contextOf(api.world))
  const images = [await api.image()]
  for (const supersede of [false, true])
    expect(refusalOf(await api.post('', { body: { caseId, images, supersede } }))).toBe('409 case-closed')
  expect(refusalOf(await api.post(`/${id}/supersede`, { body: { images } }))).toBe('409 case-closed')
  expect(await api.review(id)).toMatchObject({ status: 'pending' })
})

test('a crash between the claim of a client and its answer: `open` begins the review, and a repeat gets it', async () => {
  const caseId = await api.newCase()
  const body = { caseId, images: [await api.image()] }
  const headers = { 'idempotency-key': randomUUID() }
  const { world } = api
  const first = 'ai_review: AiReviewRequested'
  const alive = mortal(world.deps, Infinity)
  await api.post('', {
    body: { ...body, caseId: await api.newCase() },
    headers: { 'idempotency-key': randomUUID() },
    through: await api.startRoutes(alive.deps.store),
  })
  const dying = mortal(world.deps, alive.done.indexOf(first))
  const cut = await api.post('', { body, headers, through: await api.startRoutes(dying.deps.store) })
  expect([cut.status, dying.killedBefore()]).toEqual([500, first])

  const { state } = await world.otherStore.load(aiReviewSlots.of(world.orgId, caseId, ids.product))
  const aiReviewId = state.status === 'free' ? '' : state.holder.aiReviewId
  expect((await api.get(`/${aiReviewId}`)).status).toBe(404)
  const payload = { cause: { eventId: randomUUID(), correlationId: randomUUID() }, caseId, productId: ids.product }
  await runReviewStep(world, 'open', aiReviewId, { todo: { payload } })
  expect(at(await api.review(aiReviewId), 'status')).toBe('pending')
  const again = await api.post('', { body, headers })
  expect([again.status, again.body]).toEqual([202, { aiReviewId, status: 'pending' }])
  expect(again.headers['idempotency-replayed']).toBe('true')
  expect(idsIn(await api.get(`?caseId=${caseId}`))).toEqual([aiReviewId])
})
